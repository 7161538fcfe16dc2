"""What the two worlds of SkillExecBench share: seeded scripts of events, one right answer to each.

knobs            checks of a generator's parameters
commands         finds the command of a reply
noise            blocks of lines that never matter
tally            counts of right answers, scores, metrics
environment      an environment whose tasks are generator seeds
prompt_reading   how perfect readers find an environment's texts in a prompt
"""
