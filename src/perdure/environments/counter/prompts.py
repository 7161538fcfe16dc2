"""What the agent is told."""

INSTRUCTIONS = """\
You operate a counter. In each turn, write one line that starts with `Action:` and names one command:

Action: add N        adds the integer N (it may be negative, between -9 and 9)
Action: read         tells you the value of the counter
Action: done         ends the task

The last such line of your reply counts. You have at most {max_interactions} actions."""

GOAL = "Bring the counter to {target}, then end the task."
