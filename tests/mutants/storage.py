"""Wrong changes of what makes sessions last."""

from __future__ import annotations

from tests.mutants.change import Mutant

_FILES, _STORE, _LOG, _LINES = (
    "storage/files.py",
    "storage/run_store.py",
    "storage/call_log.py",
    "storage/call_lines.py",
)
_INDEX, _BLOBS, _SNAPSHOTS = "storage/session_index.py", "storage/blobs.py", "storage/snapshots.py"

STORAGE = (
    Mutant(
        "no fsync in extend",
        _FILES,
        "            if sync:\n                self._sync()\n",
        "",
        tests="storage/test_power_loss.py",
    ),
    Mutant(
        "no fsync in replace_atomically",
        _FILES,
        "                if sync:\n                    _sync_descriptor(descriptor)\n",
        "",
        tests="storage/test_power_loss.py",
    ),
    Mutant(
        "a replaced name is not synced",
        _FILES,
        "            if sync:\n                sync_folder(path.parent)\n        finally:",
        "        finally:",
        tests="storage/test_power_loss.py",
    ),
    Mutant(
        "a new folder is not synced",
        _FILES,
        "        if sync:\n            sync_folder(new.parent)\n",
        "",
        tests="storage/test_power_loss.py",
    ),
    Mutant(
        "a new log's name is not synced",
        _FILES,
        "        if not self._named:\n            sync_folder(self.path.parent)\n",
        "        if not self._named:\n",
        tests="storage/test_storage.py",
    ),
    Mutant(
        "the names of a run's files are not synced",
        _STORE,
        "            sync_folder(folder)\n",
        "            pass\n",
        tests="storage/test_power_loss.py",
    ),
    Mutant(
        "what a killed process wrote is built upon unsynced",
        _STORE,
        "        self._sessions.sync()\n",
        "",
        tests="storage/test_power_loss.py",
    ),
    Mutant(
        "a write that failed stays half done",
        _FILES,
        "                os.ftruncate(self._fd, offset)\n",
        "                pass\n",
        tests="storage/test_storage.py",
    ),
    Mutant(
        "a torn last line stays",
        _FILES,
        "            self._end = self._drop_torn_line()\n",
        "            self._end = os.fstat(self._fd).st_size\n",
        tests="storage/test_power_loss.py",
    ),
    Mutant(
        "a short write is taken for a whole one",
        _FILES,
        "                written += write_at(self._fd, data[written:], offset + written)\n",
        "                written += write_at(self._fd, data, offset) or len(data)\n                break\n",
        tests="storage/test_storage.py",
    ),
    Mutant(
        "ledger before texts",
        _STORE,
        "                self._blobs.flush(sync=self._fsync)\n"
        "                self._ledger.extend(map(_ledger_line, tasks), sync=self._fsync)\n",
        "                self._ledger.extend(map(_ledger_line, tasks), sync=self._fsync)\n"
        "                self._blobs.flush(sync=self._fsync)\n",
        tests="storage/test_power_loss.py",
    ),
    Mutant(
        "sessions before the ledger",
        _STORE,
        "                self._ledger.extend(map(_ledger_line, tasks), sync=self._fsync)\n"
        "                self._sessions.extend(lines, sync=self._fsync)\n",
        "                self._sessions.extend(lines, sync=self._fsync)\n"
        "                self._ledger.extend(map(_ledger_line, tasks), sync=self._fsync)\n",
        tests="storage/test_power_loss.py",
    ),
    Mutant(
        "sessions before the texts",
        _STORE,
        "                self._blobs.flush(sync=self._fsync)\n"
        "                self._ledger.extend(map(_ledger_line, tasks), sync=self._fsync)\n"
        "                self._sessions.extend(lines, sync=self._fsync)\n",
        "                self._ledger.extend(map(_ledger_line, tasks), sync=self._fsync)\n"
        "                self._sessions.extend(lines, sync=self._fsync)\n"
        "                self._blobs.flush(sync=self._fsync)\n",
        tests="storage/test_power_loss.py",
    ),
    Mutant(
        "a commit that failed leaves its charges",
        _STORE,
        "                self._ledger.truncate(ledger_end)\n",
        "",
        tests="storage/test_commit.py",
    ),
    Mutant(
        "a commit that failed leaves its texts",
        _STORE,
        "                self._blobs.cut(blobs_end)\n",
        "",
        tests="storage/test_commit.py",
    ),
    Mutant(
        "a commit that failed will write its texts later",
        _STORE,
        "                self._blobs.forget()\n",
        "",
        tests="storage/test_commit.py",
    ),
    Mutant(
        "charges beyond the last commit stay",
        _STORE,
        "            self._ledger.truncate(offset)\n",
        "            pass\n",
        tests="storage/test_damaged_folder.py",
    ),
    Mutant(
        "texts beyond the last commit stay",
        _STORE,
        '        self._blobs.cut(self.past.line(-1)["blobs"] if done else 0)\n',
        "",
        tests="storage/test_commit.py",
    ),
    Mutant(
        "a call log is deleted before its session is committed",
        _STORE,
        "                self._blobs.flush(sync=self._fsync)\n",
        "                self._blobs.flush(sync=self._fsync)\n"
        "                for task in tasks:\n"
        '                    remove(self.folder / CALLS_FOLDER / f"{task.session.index}.jsonl")\n',
        tests="storage/test_power_loss.py",
    ),
    Mutant(
        "sessions may be committed out of order",
        _STORE,
        "        if task.session.index != place:\n",
        "        if task.session.index < 0:\n",
        tests="storage/test_commit.py",
    ),
    Mutant(
        "a restore reads every session",
        _STORE,
        "snapshot = self._snapshots.newest(tasks)",
        "snapshot = Snapshot()",
        tests="storage/test_commit.py",
    ),
    Mutant(
        "a snapshot ahead of the sessions is taken",
        _SNAPSHOTS,
        "if found is not None and 0 < found.tasks <= tasks:",
        "if found is not None and 0 < found.tasks:",
        tests="storage/test_run_store.py",
    ),
    Mutant(
        "a damaged snapshot is taken",
        _SNAPSHOTS,
        "body = parse_object(text) if is_sealed(text) else {}",
        "body = parse_object(text)",
        tests="storage/test_damaged_folder.py",
    ),
    Mutant(
        "a damaged line is taken",
        _FILES,
        '    return found[1] == _crc(body).encode("ascii")\n',
        '    return body != b"" and len(found[1]) == len(_crc(body))\n',
        tests="storage/test_call_log_damage.py",
    ),
    Mutant(
        "a changed config.toml is taken",
        _FILES,
        """    if content != body + f'# crc = "{_crc(body)}"\\n'.encode():\n""",
        """    if not content.startswith(body):\n""",
        tests="storage/test_damaged_folder.py",
    ),
    Mutant(
        "the index is believed",
        _INDEX,
        "if self._indexed and not self._ends_as_indexed():",
        "if self._indexed and self.end < 0:",
        tests="storage/test_commit.py",
    ),
    Mutant(
        "readers share the texts' index without a lock",
        _BLOBS,
        "        with self._lock:\n            if key not in self._offsets:\n                self._index()\n"
        "            offset = self._offsets.get(key)\n",
        "        if key not in self._offsets:\n            self._index()\n"
        "        offset = self._offsets.get(key)\n",
        tests="storage/test_storage.py",
    ),
    Mutant(
        "another text is taken for the one that was asked for",
        _BLOBS,
        "if not isinstance(text, str) or text_digest(text) != digest:",
        "if not isinstance(text, str):",
        tests="storage/test_damaged_folder.py",
    ),
    Mutant(
        "a run folder is not locked",
        _FILES,
        "        try:\n            acquire(self._fd)\n        except OSError as error:\n            os.close(self._fd)",
        "        try:\n            os.fstat(self._fd)\n        except OSError as error:\n            os.close(self._fd)",
        tests="storage/test_storage.py",
    ),
    Mutant(
        "a call is on disk only with its answer",
        _LOG,
        '            self._file.append(self._ask(call, "asked"))\n',
        '            self._file.append(self._ask(call, "asked"), wait=True)\n',
        tests="e2e/test_kill.py",
    ),
    Mutant(
        "an answer waits to be written",
        _LOG,
        "            self._file.append(*lines, answered_line(logged))\n",
        "            self._file.append(*lines, answered_line(logged), wait=True)\n",
        tests="storage/test_call_log.py",
    ),
    Mutant(
        "the log of another run is served",
        "storage/call_file.py",
        'if {**content.header, "is": "log", "started": 0} == {**header, "is": "log", "started": 0}:',
        "if content.header:",
        tests="storage/test_call_log.py",
    ),
    Mutant(
        "the log of another run is thrown away",
        "storage/call_file.py",
        "        move_aside(self._path, target)\n",
        "        self._path.unlink()\n",
        tests="storage/test_call_log.py",
    ),
    Mutant(
        "another question is answered with what was recorded",
        _LOG,
        "(known.digest, known.after) == (digest, self._observed)",
        "known.after == self._observed",
        tests="storage/test_call_log.py",
    ),
    Mutant(
        "a call is served before the observation that led to it",
        _LOG,
        "(known.digest, known.after) == (digest, self._observed)",
        "known.digest == digest",
        tests="storage/test_call_log.py",
    ),
    Mutant(
        "observations are compared as they are",
        _LINES,
        "            normalise(seen.text),\n",
        "            seen.text,\n",
        tests="storage/test_call_log.py",
    ),
    Mutant(
        "a re-executed observation has another text than the recorded one",
        _LOG,
        "                self._serve(recorded.at)\n                return recorded\n",
        "                self._serve(recorded.at)\n                return item\n",
        tests="storage/test_call_log.py",
    ),
    Mutant(
        "the clock is not set back after a difference that was kept",
        _LOG,
        "        self._forget_served()\n        self._started = time.monotonic() - self._served_at\n",
        "        self._forget_served()\n",
        tests="storage/test_call_log.py",
    ),
    Mutant(
        "the clock starts anew after a resume",
        _LOG,
        "        if not self._owed:\n            self._started = time.monotonic() - self._served_at\n",
        "",
        tests="storage/test_call_log.py",
    ),
    Mutant(
        "a fresh start serves what was recorded",
        _LINES,
        "                self._keep({}, 0)\n                self.attempt += 1\n",
        "                self.attempt += 1\n",
        tests="storage/test_call_log.py",
    ),
    Mutant(
        "attempts that were given up are not charged",
        _LINES,
        '            call.charge for call in self.asked if call.outcome is not None or call.answered == "asked"\n',
        "            call.charge for call in self.calls.values() if call.attempt == self.attempt\n",
        tests="storage/test_call_log.py",
    ),
    Mutant(
        "calls that nobody answered are not charged",
        _LINES,
        ' if call.outcome is not None or call.answered == "asked"\n',
        " if call.outcome is not None\n",
        tests="core/test_calls_and_charges.py",
    ),
    Mutant(
        "what follows a damaged line is served",
        _LINES,
        "            self.damaged += 1\n            self.lost = True\n",
        "            self.damaged += 1\n",
        tests="storage/test_call_log_damage.py",
    ),
    Mutant(
        "usage of an attempt that was given up is shown",
        "storage/ledger.py",
        'if row.attempt == line["restarts"] and row.answered != "unanswered"',
        'if row.answered != "unanswered"',
        tests="storage/test_recorded_usage.py",
    ),
    Mutant(
        "usage is aligned by count alone",
        "storage/records.py",
        "    rows = {(row.caller, row.number): row for row in charges}\n",
        '    ordered = zip(record["calls"], charges, strict=False)\n'
        "    seen: Counter[str] = Counter()\n"
        "    rows = {}\n"
        "    for made, row in ordered:\n"
        '        rows[made["caller"], seen[made["caller"]]] = row\n'
        '        seen[made["caller"]] += 1\n',
        tests="storage/test_recorded_usage.py",
    ),
    Mutant(
        "a block sees later sessions",
        "storage/past_until.py",
        "        return self._count\n",
        "        return len(self._past)\n",
        tests="experiment/test_lanes.py",
    ),
)
