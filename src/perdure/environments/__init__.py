"""Environments, one folder each.

The package of an environment offers, beside its class:

    ENVIRONMENT             the class
    MAX_INTERACTIONS        the benchmark's own limit of actions a task
    DO_NOTHING              the reply that ends a task without doing anything: the floor
    build_oracle(…)         an agent that solves every task through the environment; takes the environment's
                            own parameters, as far as it names them
    normal_form(action)     one spelling for actions that do the same, for voting; None for an invalid action
    normalise(text)         an observation without what legitimately differs between two runs, for replay

and, where it has them, for strategies that keep a state or read actions:

    STATE_SCHEMA            what an agent without a history has to know: a pydantic model or a JSON Schema
    ACTION_PATTERN          a regular expression for whole actions, or the list of all of them
    NO_OP                   the action that changes nothing and ends nothing

It may offer more:

    task_skills(…)          the skills of every task by id, for orders and curves by skill; takes parameters
                            as the oracle does
    resolve_parameters(…)   parameters as they are meant on this machine, such as which root `auto` is;
                            they become part of the run's identity
    surroundings(…)         facts about what a run is played on that are not; told when they change
"""
