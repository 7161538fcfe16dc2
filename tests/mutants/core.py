"""Wrong changes of the loop, its records and its calls."""

from __future__ import annotations

from tests.mutants.change import Mutant

_CONTROLLER, _SESSION, _AGENT = "core/controller.py", "core/session.py", "core/agent.py"
_POOL, _DIGEST, _CLEAN, _CALLBACK = (
    "core/pool.py",
    "core/request_digest.py",
    "core/reply_cleaning.py",
    "core/callback.py",
)

CORE = (
    Mutant(
        "the agent observes before the callbacks do",
        _CONTROLLER,
        '        self._callbacks.fire("on_environment_interact", ctx)\n        self._agent.observe(observation)\n',
        '        self._agent.observe(observation)\n        self._callbacks.fire("on_environment_interact", ctx)\n',
    ),
    Mutant(
        "the session observes after the callbacks",
        _CONTROLLER,
        '        session.observe(action, observation)\n        self._callbacks.fire("on_environment_interact", ctx)\n',
        '        self._callbacks.fire("on_environment_interact", ctx)\n        session.observe(action, observation)\n',
    ),
    Mutant(
        "flags of one session reach the next",
        _CONTROLLER,
        "        self._flags.clear()\n",
        "",
    ),
    Mutant(
        "a record that goes on after the end is not noticed",
        _CONTROLLER,
        "        log.check_complete()\n",
        "",
    ),
    Mutant(
        "edits of the history factory are not committed",
        _CONTROLLER,
        "edited = after if (after := factory.items()) != before else None",
        "edited = None",
    ),
    Mutant(
        "one interaction too many",
        _CONTROLLER,
        "len(session.interactions) >= limits.max_interactions",
        "len(session.interactions) > limits.max_interactions",
    ),
    Mutant(
        "retries have no turn limit",
        _CONTROLLER,
        "elif session.turns >= limits.max_turns:",
        "elif session.turns >= limits.max_turns and not session.rejected:",
    ),
    Mutant(
        "the time limit is never met",
        _CONTROLLER,
        "self._log.seconds >= limits.max_seconds",
        "self._log.seconds - self._log.times.seconds >= limits.max_seconds",
    ),
    Mutant(
        "the model is not asked beyond the limit",
        _CONTROLLER,
        "        if limits.ask_beyond_limit:\n",
        "        if limits.ask_beyond_limit and limits.max_seconds:\n",
    ),
    Mutant(
        "a task whose grading failed keeps its status",
        _CONTROLLER,
        "            session.fail_grading(str(error))\n",
        "            session.finish_reason = str(error)\n",
    ),
    Mutant(
        "a model error inside an environment stops the run",
        _CONTROLLER,
        "    except ModelError as error:\n        status = SessionStatus.TASK_ENVIRONMENT_ERROR\n        return",
        "    except NotImplementedError as error:\n        status = SessionStatus.TASK_ENVIRONMENT_ERROR\n        return",
    ),
    Mutant(
        "a trace that is no JSON is taken",
        _CONTROLLER,
        'if (lost := beyond_json(trace, "trace")) is not None:',
        'if (lost := beyond_json(None, "trace")) is not None:',
    ),
    Mutant(
        "a stopping run carries out one more action",
        _CONTROLLER,
        "        self._log.proceed()\n",
        "",
    ),
    Mutant(
        "an evaluation is not checked",
        _SESSION,
        "if (problem := evaluation.problem()) is not None:",
        "if (problem := evaluation.problem()) is not None and evaluation.reward > 1:",
    ),
    Mutant(
        "a terminal session may be ended again",
        _SESSION,
        "    _S.RUNNING: frozenset(status for status in _S if status.is_terminal),\n}",
        "    **{s: frozenset(status for status in _S if status.is_terminal) for s in _S if s != _S.INITIAL},\n}",
    ),
    Mutant(
        "rejected replies stay after the observation",
        _SESSION,
        "        self._rejected.clear()\n",
        "",
    ),
    Mutant(
        "a note stays after the observation",
        _SESSION,
        '        self.reply = None\n        self.note_text = ""\n        if observation',
        "        self.reply = None\n        if observation",
    ),
    Mutant(
        "a fallback is not counted as malformed",
        _SESSION,
        "        self.malformed += 1\n        self.fallbacks += 1\n",
        "        self.fallbacks += 1\n",
    ),
    Mutant(
        "one retry too many",
        _AGENT,
        "self._rejected >= self._retries",
        "self._rejected > self._retries",
    ),
    Mutant(
        "what a fallback replaced is committed",
        _AGENT,
        "            observation = replace(observation, accepted=False)\n",
        "            pass\n",
    ),
    Mutant(
        "two repeats sample with one seed",
        _AGENT,
        "trial.task_id, trial.repeat, turn,",
        "trial.task_id, turn,",
    ),
    Mutant(
        "the repeat is missing in the digest",
        _DIGEST,
        "_digest(question, str(draw.repeat), str(draw.turn)",
        "_digest(question, str(draw.turn)",
    ),
    Mutant(
        "the turn is missing in the digest",
        _DIGEST,
        "str(draw.repeat), str(draw.turn), ",
        "str(draw.repeat), ",
    ),
    Mutant(
        "the draw is missing in the digest",
        _DIGEST,
        ", str(draw.draw))",
        ")",
    ),
    Mutant(
        "a vote's draws share one seed",
        "core/draws.py",
        "if number and sampling.seed is not None and",
        "if number > 99 and sampling.seed is not None and",
    ),
    Mutant(
        "every call of a batch has the seconds of all before it",
        _POOL,
        "            if one_by_one:\n                began = now\n",
        "",
    ),
    Mutant(
        "a batch is logged when it is complete",
        _POOL,
        "in outcomes_of(instance, [call.request for call in calls]):",
        "in list(outcomes_of(instance, [call.request for call in calls])):",
    ),
    Mutant(
        "replies enter as they are",
        _POOL,
        "                outcome = clean_completion(outcome)\n",
        "                pass\n",
    ),
    Mutant(
        "cache hits are metered as paid",
        _POOL,
        "paid=not calls[i].from_cache",
        "paid=True",
    ),
    Mutant(
        "cache hits are logged as asked",
        _POOL,
        "recorder.answer(call, cached, 0.0, from_cache=True)",
        "recorder.ask(call), recorder.answer(call, cached, 0.0)",
    ),
    Mutant(
        "waiting for a connection counts as time of the task",
        _POOL,
        "            recorder.wait(min(waits))\n",
        "            pass\n",
    ),
    Mutant(
        "a lone surrogate stays",
        _CLEAN,
        '.decode("utf-16-le", "replace")',
        '.decode("utf-16-le", "surrogatepass")',
    ),
    Mutant("a think block is said", _CLEAN, "_think_block(text) or ", ""),
    Mutant("what stands before a lone end of thinking is said", _CLEAN, " or _lone_end(text)", ""),
    Mutant("harmony channels are said", _CLEAN, "_harmony(text) or ", ""),
    Mutant(
        "who reaches no further than a session sees past ones",
        _CALLBACK,
        'if callback.reach == "session":',
        'if callback.reach == "watch":',
    ),
    Mutant(
        "who declares no memory may keep one",
        _CALLBACK,
        'if callback.reach != "stream":',
        'if callback.reach == "watch":',
    ),
    Mutant(
        "a state that is no JSON is committed",
        _CALLBACK,
        'if (lost := beyond_json(answer, "state")) is not None:',
        'if (lost := beyond_json(None, "state")) is not None:',
    ),
    Mutant(
        "a callback is restored without its snapshot",
        _CALLBACK,
        "callback.restore_state(states.get(name), [",
        "callback.restore_state(None, [",
    ),
    Mutant(
        "not a number is JSON",
        "core/plain_json.py",
        "if not isfinite(value):",
        'if value == float("inf"):',
    ),
)
