"""Environments, one folder each.

The package of an environment offers, beside its class:

    ENVIRONMENT             the class
    MAX_INTERACTIONS        the benchmark's own limit of actions a task
    DO_NOTHING              the reply that ends a task without doing anything: the floor
    build_oracle(…)         an agent that solves every task through the environment; takes the environment's
                            own parameters, as far as it names them
    normal_form(action)     one spelling for actions that do the same, for voting; None for an invalid action
    normalise(text)         an observation without what legitimately differs between two runs, for replay

It may offer more:

    task_skills(…)          the skills of every task by id, for orders and curves by skill; takes parameters
                            as the oracle does
"""
