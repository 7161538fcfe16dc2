"""Makes `$RANDOM` in a trial's shells the trial's own."""

from __future__ import annotations

from perdure.core.randomness import keyed_seed


class ShellChance:
    """Seeds every shell of one trial from its key, from the first script on that names RANDOM.

    A shell that is started by another one reads `BASH_ENV` (man bash, INVOCATION), whose arithmetic seeds it
    with its process number added, so that a script that is called twice draws twice; there is no such file.
    What a subshell draws (`$(…)`, a part of a pipeline) cannot be seeded: bash begins it with the time.
    """

    def __init__(self, *key: object) -> None:
        self._key = key
        self._scripts = 0
        self._is_drawn_from = False

    def before(self, script: str) -> str:
        """What goes before a script, on its first line: nothing as long as nobody draws.

        A shell that lasts is seeded once, by its first script.
        """
        self._scripts += 1
        self._is_drawn_from |= "RANDOM" in script
        if not self._is_drawn_from:
            return ""
        seed = keyed_seed(*self._key, self._scripts)
        seeding = f"RANDOM={seed}; export BASH_ENV='/0/$((RANDOM={seed}+$$))'"
        return f'[ "${{BASH_ENV-}}" ] || {{ {seeding}; }}; '
