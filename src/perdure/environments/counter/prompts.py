"""What the agent is told."""

INSTRUCTIONS = """\
You operate a counter, with one action in each turn. You have at most {max_interactions} actions:

add 5        adds an integer between -9 and 9, here 5
read         tells you the value of the counter
done         ends the task"""

REPLY_FORM = """\
End your reply with one line that starts with `Action:` and names one action; the last such line counts. For \
example:
Action: add 5"""

ACTION_FORM = "for example `Action: add 5`"

GOAL = "Bring the counter to {target}, then end the task."
