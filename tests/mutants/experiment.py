"""Wrong changes of identity, lanes, memory and schedule."""

from __future__ import annotations

from tests.mutants.change import Mutant

_FOLDER, _IDENTITY, _STREAM, _LANES = (
    f"experiment/{name}.py" for name in ("run_folder", "identity", "stream", "lanes")
)
_LANE, _BLOCKS, _PARALLEL, _FROZEN = (
    f"experiment/{name}.py" for name in ("lane", "blocks", "parallelism", "frozen")
)
_PLAN, _PROBES, _RUN = (f"experiment/{name}.py" for name in ("schedule", "probes", "experiment"))

EXPERIMENT = (
    Mutant(
        "check, then lock",
        _FOLDER,
        "        _refuse_strangers(path)\n        lock = FolderLock(path)\n        try:\n"
        "            _refuse_strangers(path)\n"
        "            recorded = _check(path, run.identity, accept_version=accept_version)\n",
        "        _refuse_strangers(path)\n"
        "        recorded = _check(path, run.identity, accept_version=accept_version)\n"
        "        lock = FolderLock(path)\n        try:\n",
        tests="experiment/test_run_folder_opening.py",
    ),
    Mutant(
        "a folder that is no run is taken over",
        _FOLDER,
        "    if left:\n        what =",
        '    if "sessions.jsonl" in left:\n        what =',
        tests="experiment/test_run_folder_opening.py",
    ),
    Mutant(
        "the metrics of a shorter schedule stay",
        _FOLDER,
        "                (path / METRICS_FILE).unlink(missing_ok=True)\n",
        "                pass\n",
        tests="experiment/test_run_folder_opening.py",
    ),
    Mutant(
        "a run of another configuration goes on",
        _FOLDER,
        '    if recorded["hash"] != config_hash(identity):\n',
        '    if recorded["hash"] == "":\n',
        tests="experiment/test_identity.py",
    ),
    Mutant(
        "a run of another version goes on",
        _FOLDER,
        "    if before != now:\n",
        "    if before > now:\n",
        tests="experiment/test_identity.py",
    ),
    Mutant(
        "operational parameters are part of the identity",
        _IDENTITY,
        "                if not is_marked(hints.get(name, Any), Operational)\n",
        "",
        tests="experiment/test_identity.py",
    ),
    Mutant(
        "a scripted agent keeps its model in the identity",
        _IDENTITY,
        '    if section.kind != "model":\n        return agent\n',
        '    if section.kind != "model":\n        return section.model_dump(mode="json", exclude_none=True)\n',
        tests="experiment/test_identity.py",
    ),
    Mutant(
        "watchers are part of the identity",
        _IDENTITY,
        '        if found.target.reach == "watch":\n',
        '        if found.target.reach == "nothing":\n',
        tests="experiment/test_identity.py",
    ),
    Mutant(
        "a changed task file is not noticed",
        _IDENTITY,
        "            self.data[part] = digest_of(path)\n",
        "",
        tests="experiment/test_identity.py",
    ),
    Mutant(
        "a changed plug-in is not noticed",
        _IDENTITY,
        "            self.sources[part] = {name: _digest(content) for name, content in found.items()}\n",
        "",
        tests="experiment/test_identity.py",
    ),
    Mutant(
        "the code of a model is not in the cache's key",
        _IDENTITY,
        "json.dumps([section, declared.sources, declared.data], sort_keys=True)",
        "json.dumps([section, declared.data], sort_keys=True)",
        tests="experiment/test_identity.py",
    ),
    Mutant(
        "the weights of a model are not in the cache's key",
        _IDENTITY,
        "json.dumps([section, declared.sources, declared.data], sort_keys=True)",
        "json.dumps([section, declared.sources], sort_keys=True)",
        tests="experiment/test_identity.py",
    ),
    Mutant(
        "what is finished first is committed first",
        _LANES,
        "            while (place := self._committed + len(tasks)) in self._done:\n"
        "                tasks.append(self._done.pop(place))\n",
        "            for place in list(self._done):\n                tasks.append(self._done.pop(place))\n",
        tests="experiment/test_identity.py",
    ),
    Mutant(
        "the last failure is told",
        _LANES,
        "raise self._failures[min(self._failures)]",
        "raise self._failures[max(self._failures)]",
        tests="experiment/test_lanes.py",
    ),
    Mutant(
        "lanes run ahead without a bound",
        _LANES,
        "(self._next < self._gate and ahead < self._window)",
        "(self._next < self._gate and ahead >= 0)",
        tests="experiment/test_handing_out.py",
    ),
    Mutant(
        "lanes do not wait for the border of a block",
        _LANES,
        "(self._next < self._gate and ahead < self._window)",
        "ahead < self._window",
        tests="experiment/test_lanes.py",
    ),
    Mutant(
        "other lanes go on after a failure",
        _LANES,
        "                self._failures[place if place is not None else self._end] = error\n            self._stop()\n",
        "                self._failures[place if place is not None else self._end] = error\n",
        tests="experiment/test_handing_out.py",
    ),
    Mutant(
        "a lane keeps its environment after a divergence",
        _LANES,
        "                    if lane is not None:\n                        lane.close()\n"
        "                    lane = self._build()\n                    finished = self._play(lane, place)\n",
        "                    lane = lane or self._build()\n                    finished = self._play(lane, place)\n",
        tests="experiment/test_handing_out.py",
    ),
    Mutant(
        "a serial run keeps its environment after a divergence",
        _RUN,
        "                    self.environment.release()\n"
        "                    self.environment = self._parts.environment()\n",
        "                    pass\n",
        tests="core/test_resume.py",
    ),
    Mutant(
        "a frozen session meets what its lane held",
        _LANE,
        "        self.set_history_items(items)\n        finished =",
        "        finished =",
        tests="experiment/test_lanes.py",
    ),
    Mutant(
        "a frozen session's edits are committed",
        _LANE,
        "        return replace(finished, history_items=None)\n",
        "        return finished\n",
        tests="core/test_calls_and_charges.py",
    ),
    Mutant(
        "a failure is not told to the next process",
        _LANE,
        "        log.fail(error)\n",
        "",
        tests="core/test_calls_and_charges.py",
    ),
    Mutant(
        "a record that leads to the same failure is served for ever",
        _LANE,
        "        if log.failed_here:\n",
        "        if log.failed_here and not str(error):\n",
        tests="core/test_calls_and_charges.py",
    ),
    Mutant(
        "a block begins one session late",
        _BLOCKS,
        "        return (place // self.size + 1) * self.size\n",
        "        return (place // self.size + 1) * self.size + 1\n",
        tests="experiment/test_lanes.py",
    ),
    Mutant(
        "a serial run never enters the next block",
        _BLOCKS,
        "        return place % self.size == 0\n",
        "        return place == 0\n",
        tests="experiment/test_lanes.py",
    ),
    Mutant(
        "a block meets the memory of where it was cut",
        _BLOCKS,
        "        begin = place - place % self.size\n",
        "        begin = place\n",
        tests="experiment/test_lanes.py",
    ),
    Mutant(
        "snapshots inside a block",
        _BLOCKS,
        "        if not done or (done % self.size and done != planned):\n",
        "        if not done:\n",
        tests="experiment/test_lanes.py",
    ),
    Mutant(
        "a callback that reaches over the stream has many lanes",
        _PARALLEL,
        "    most = (block or 1) if reaching else None\n",
        "    most = None\n",
        tests="experiment/test_lanes.py",
    ),
    Mutant(
        "a model that is not pure has many lanes",
        _PARALLEL,
        "if not is_pure(model)]",
        "if is_pure(model) is None]",
        tests="experiment/test_lanes.py",
    ),
    Mutant(
        "a world that is not side by side has many lanes",
        _PARALLEL,
        "    if not world.side_by_side:\n",
        "    if world.side_by_side is None:\n",
        tests="experiment/test_lanes.py",
    ),
    Mutant(
        "frozen learners learn",
        _FROZEN,
        'elif self._learning or event != "on_environment_complete":',
        "else:",
        tests="experiment/test_callback_flags.py",
    ),
    Mutant(
        "a frozen callback keeps its memory",
        _FROZEN,
        '        if event == "on_session_create":\n',
        '        if event == "on_session_create" and not self._memory.items():\n',
        tests="experiment/test_lanes.py core/test_calls_and_charges.py",
    ),
    Mutant(
        "a guard is frozen with the learners",
        "experiment/callbacks.py",
        'return bool(self.plugin.target.reach == "stream" and self.plugin.target.learns)',
        'return bool(self.plugin.target.reach == "stream")',
        tests="experiment/test_callback_flags.py",
    ),
    Mutant(
        "watchers are called by two lanes at once",
        "experiment/shared_watcher.py",
        "        with self._lock:\n            self._watcher.on_environment_interact(ctx)\n",
        "        self._watcher.on_environment_interact(ctx)\n",
        tests="experiment/test_lanes.py",
    ),
    Mutant(
        "the limit is applied before the order",
        _PLAN,
        "    ids = arrange(ids, config.order, skills=known, seed=config.seed)\n"
        "    if config.execution.limit is not None:\n        ids = ids[: config.execution.limit]\n",
        "    if config.execution.limit is not None:\n        ids = ids[: config.execution.limit]\n"
        "    ids = arrange(ids, config.order, skills=known, seed=config.seed)\n",
        tests="e2e/test_lifelong_orders.py",
    ),
    Mutant(
        "a task's repeats follow one another",
        _PLAN,
        "for repeat in range(config.execution.repeat) for id_ in ids]",
        "for id_ in ids for repeat in range(config.execution.repeat)]",
        tests="core/test_resume.py",
    ),
    Mutant(
        "ignored sessions count",
        _STREAM,
        "if not record.ignored)",
        "if record.task_id)",
        tests="core/test_contracts.py",
    ),
    Mutant(
        "a commit runs past the place of a snapshot",
        _STREAM,
        "            room = self._store.until_snapshot\n",
        "            room = len(tasks)\n",
        tests="experiment/test_lanes.py",
    ),
    Mutant(
        "a snapshot before its commit",
        _STREAM,
        "            self._store.commit(tasks[:room])\n            tasks = tasks[room:]\n            self._snapshot_if_due()\n",
        "            self._snapshot_if_due()\n            self._store.commit(tasks[:room])\n            tasks = tasks[room:]\n",
        tests="storage/test_commit.py storage/test_power_loss.py",
    ),
    Mutant(
        "a snapshot that a crash cut off stays away",
        _STREAM,
        "            # The process may have died between a commit and the snapshot after it.\n            self._snapshot_if_due()\n",
        "            pass\n",
        tests="e2e/test_kill.py",
    ),
    Mutant(
        "edits of the history factory are not restored",
        _STREAM,
        "                lane.set_history_items(snapshot.history_items)\n",
        "",
        tests="core/test_calls_and_charges.py",
    ),
    Mutant(
        "another schedule goes on in the folder",
        _STREAM,
        "            if (task, repeat) != (trial.task_id, trial.repeat):\n",
        "            if repeat != trial.repeat:\n",
        tests="core/test_resume.py",
    ),
    Mutant(
        "the time of day is asked anew on resume",
        _STREAM,
        "clock=datetime.fromtimestamp(int(log.times.started), UTC))",
        "clock=datetime.now(UTC))",
        tests="experiment/test_replay_models.py",
    ),
    Mutant(
        "a probe without metrics is finished",
        _PROBES,
        "        return taken.metrics() is not None\n",
        "        return True\n",
        tests="core/test_calls_and_charges.py",
    ),
    Mutant(
        "a stream goes on past a probe that was not taken",
        _PROBES,
        "        if position < finished and (taken is None or len(taken) < tasks):\n",
        "        if position > finished and (taken is None or len(taken) < tasks):\n",
        tests="e2e/test_lifelong_forms.py",
    ),
    Mutant(
        "a file of the same size and name has the digest of the old one",
        "experiment/file_digests.py",
        "    if found.st_size < _SMALL:\n        return _blake(path.read_bytes())\n",
        "    if found.st_size < _SMALL:\n        return _blake(str(found.st_size).encode())\n",
        tests="experiment/test_identity.py",
    ),
    Mutant(
        "the agent is told another limit than the run has",
        "experiment/construct.py",
        "        if key in facts:\n",
        '        if key in facts and key != "max_interactions":\n',
        tests="experiment/test_construct.py",
    ),
    Mutant(
        "a replay does not notice calls that are no longer made",
        "experiment/recorded_calls.py",
        "        if made < recorded:\n",
        "        if made > recorded:\n",
        tests="experiment/test_replay_models.py",
    ),
    Mutant(
        "do-nothing replies nothing",
        "experiment/scripted_agents.py",
        "        self._reply = reply\n",
        '        self._reply = ""\n',
        tests="experiment/test_run.py",
    ),
)
