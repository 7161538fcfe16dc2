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
    ),
    Mutant(
        "no fsync in replace_atomically",
        _FILES,
        "                if sync:\n                    _sync_descriptor(descriptor)\n",
        "",
    ),
    Mutant(
        "a replaced name is not synced",
        _FILES,
        "            if sync:\n                sync_folder(path.parent)\n        finally:",
        "        finally:",
    ),
    Mutant(
        "a new folder is not synced",
        _FILES,
        "        if sync:\n            sync_folder(new.parent)\n",
        "",
    ),
    Mutant(
        "a new log's name is not synced",
        _FILES,
        "        if not self._named:\n            sync_folder(self.path.parent)\n",
        "        if not self._named:\n",
    ),
    Mutant(
        "the names of a run's files are not synced",
        _STORE,
        "            sync_folder(folder)\n",
        "            pass\n",
    ),
    Mutant(
        "what a killed process wrote is built upon unsynced",
        _STORE,
        "        self._sessions.sync()\n",
        "",
    ),
    Mutant(
        "a write that failed stays half done",
        _FILES,
        "                os.ftruncate(self._fd, offset)\n",
        "                pass\n",
    ),
    Mutant(
        "a torn last line stays",
        _FILES,
        "            self._end = self._drop_torn_line()\n",
        "            self._end = os.fstat(self._fd).st_size\n",
    ),
    Mutant(
        "a short write is taken for a whole one",
        _FILES,
        "                written += write_at(self._fd, data[written:], offset + written)\n",
        "                written += write_at(self._fd, data, offset) or len(data)\n                break\n",
    ),
    Mutant(
        "ledger before texts",
        _STORE,
        "                self._blobs.flush(sync=self._fsync)\n"
        "                self._ledger.extend(map(_ledger_line, tasks), sync=self._fsync)\n",
        "                self._ledger.extend(map(_ledger_line, tasks), sync=self._fsync)\n"
        "                self._blobs.flush(sync=self._fsync)\n",
    ),
    Mutant(
        "sessions before the ledger",
        _STORE,
        "                self._ledger.extend(map(_ledger_line, tasks), sync=self._fsync)\n"
        "                self._sessions.extend(lines, sync=self._fsync)\n",
        "                self._sessions.extend(lines, sync=self._fsync)\n"
        "                self._ledger.extend(map(_ledger_line, tasks), sync=self._fsync)\n",
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
    ),
    Mutant(
        "a commit that failed leaves its charges",
        _STORE,
        "                self._ledger.truncate(ledger_end)\n",
        "",
    ),
    Mutant(
        "a commit that failed leaves its texts",
        _STORE,
        "                self._blobs.cut(blobs_end)\n",
        "",
    ),
    Mutant(
        "a commit that failed will write its texts later",
        _STORE,
        "                self._blobs.forget()\n",
        "",
    ),
    Mutant(
        "charges beyond the last commit stay",
        _STORE,
        "            self._ledger.truncate(offset)\n",
        "            pass\n",
    ),
    Mutant(
        "texts beyond the last commit stay",
        _STORE,
        '        self._blobs.cut(self.past.line(-1)["blobs"] if done else 0)\n',
        "",
    ),
    Mutant(
        "a call log is deleted before its session is committed",
        _STORE,
        "                self._blobs.flush(sync=self._fsync)\n",
        "                self._blobs.flush(sync=self._fsync)\n"
        "                for task in tasks:\n"
        '                    remove(self.folder / CALLS_FOLDER / f"{task.session.index}.jsonl")\n',
    ),
    Mutant(
        "sessions may be committed out of order",
        _STORE,
        "        if task.session.index != place:\n",
        "        if task.session.index < 0:\n",
    ),
    Mutant(
        "a restore reads every session",
        _STORE,
        "snapshot = self._snapshots.newest(tasks)",
        "snapshot = Snapshot()",
    ),
    Mutant(
        "a snapshot ahead of the sessions is taken",
        _SNAPSHOTS,
        "if found is not None and 0 < found.tasks <= tasks:",
        "if found is not None and 0 < found.tasks:",
    ),
    Mutant(
        "a damaged snapshot is taken",
        _SNAPSHOTS,
        "body = parse_object(text) if is_sealed(text) else {}",
        "body = parse_object(text)",
    ),
    Mutant(
        "a damaged line is taken",
        _FILES,
        '    return found[1] == _crc(body).encode("ascii")\n',
        '    return body != b"" and len(found[1]) == len(_crc(body))\n',
    ),
    Mutant(
        "a changed config.toml is taken",
        _FILES,
        """    if content != body + f'# crc = "{_crc(body)}"\\n'.encode():\n""",
        """    if not content.startswith(body):\n""",
    ),
    Mutant(
        "the index is believed",
        _INDEX,
        "if self._indexed and not self._ends_as_indexed():",
        "if self._indexed and self.end < 0:",
    ),
    Mutant(
        "readers share the texts' index without a lock",
        _BLOBS,
        "        with self._lock:\n            if key not in self._offsets:\n                self._index()\n"
        "            offset = self._offsets.get(key)\n",
        "        if key not in self._offsets:\n            self._index()\n"
        "        offset = self._offsets.get(key)\n",
    ),
    Mutant(
        "another text is taken for the one that was asked for",
        _BLOBS,
        "if not isinstance(text, str) or text_digest(text) != digest:",
        "if not isinstance(text, str):",
    ),
    Mutant(
        "a run folder is not locked",
        _FILES,
        "        try:\n            acquire(self._fd)\n        except OSError as error:\n            os.close(self._fd)",
        "        try:\n            os.fstat(self._fd)\n        except OSError as error:\n            os.close(self._fd)",
    ),
    Mutant(
        "a call is on disk only with its answer",
        _LOG,
        '            self._append(self._ask(call, "asked"))\n',
        '            self._append(self._ask(call, "asked"), wait=True)\n',
    ),
    Mutant(
        "an answer waits to be written",
        _LOG,
        "            self._append(*lines, answered_line(logged))\n",
        "            self._append(*lines, answered_line(logged), wait=True)\n",
    ),
    Mutant(
        "the log of another run is served",
        _LOG,
        'if {**content.header, "is": "log", "started": 0} == {**header, "is": "log", "started": 0}:',
        "if content.header:",
    ),
    Mutant(
        "the log of another run is thrown away",
        _LOG,
        "        move_aside(self._path, target)\n",
        "        self._path.unlink()\n",
    ),
    Mutant(
        "another question is answered with what was recorded",
        _LOG,
        "(known.digest, known.after) == (digest, self._observed)",
        "known.after == self._observed",
    ),
    Mutant(
        "a call is served before the observation that led to it",
        _LOG,
        "(known.digest, known.after) == (digest, self._observed)",
        "known.digest == digest",
    ),
    Mutant(
        "observations are compared as they are",
        _LOG,
        "            self._normalise(seen.text),\n",
        "            seen.text,\n",
    ),
    Mutant(
        "a re-executed observation has another text than the recorded one",
        _LOG,
        "                self._serve(recorded.at)\n                return recorded\n",
        "                self._serve(recorded.at)\n                return item\n",
    ),
    Mutant(
        "the clock is not set back after a difference that was kept",
        _LOG,
        "        self._forget_served()\n        self._started = time.monotonic() - self._served_at\n",
        "        self._forget_served()\n",
    ),
    Mutant(
        "the clock starts anew after a resume",
        _LOG,
        "        if not self._owed:\n            self._started = time.monotonic() - self._served_at\n",
        "",
    ),
    Mutant(
        "a fresh start serves what was recorded",
        _LINES,
        "                self._keep({}, 0)\n                self.attempt += 1\n",
        "                self.attempt += 1\n",
    ),
    Mutant(
        "attempts that were given up are not charged",
        _LINES,
        '            call.charge for call in self.asked if call.outcome is not None or call.answered == "asked"\n',
        "            call.charge for call in self.calls.values() if call.attempt == self.attempt\n",
    ),
    Mutant(
        "calls that nobody answered are not charged",
        _LINES,
        ' if call.outcome is not None or call.answered == "asked"\n',
        " if call.outcome is not None\n",
    ),
    Mutant(
        "what follows a damaged line is served",
        _LINES,
        "            self.damaged += 1\n            self.lost = True\n",
        "            self.damaged += 1\n",
    ),
    Mutant(
        "usage of an attempt that was given up is shown",
        "storage/ledger.py",
        'if row.attempt == line["restarts"] and row.answered != "unanswered"',
        'if row.answered != "unanswered"',
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
    ),
    Mutant(
        "a block sees later sessions",
        "storage/past_until.py",
        "        return self._count\n",
        "        return len(self._past)\n",
    ),
)
