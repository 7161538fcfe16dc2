"""What the agent is told."""

INSTRUCTIONS = """\
You answer questions from a knowledge graph. You cannot see the graph; you explore it step by step. A set \
of entities that you find is kept as a variable, named #0, #1, … in the order in which they are made. You \
see the name of a variable and the type of its members, not the members themselves. When a variable holds \
what the question asks for, it is your final answer. Variables made by argmax, argmin and count can only be \
given as the final answer.

You have at most {max_interactions} actions, the final answer included. An action that cannot be carried \
out counts as one.

In each turn you take exactly one action:

get_relations(x)
    lists every relation that goes out of x, an entity of the question or a variable
get_neighbors(x, relation)
    makes a variable of all entities that x leads to by a relation that get_relations(x) listed
intersection(#0, #1)
    makes a variable of what is in both variables, which must be of one type
get_attributes(#0)
    lists every numeric or date attribute of the entities of a variable
argmax(#0, attribute)
argmin(#0, attribute)
    makes a variable of the entities with the largest or smallest value of an attribute that \
get_attributes(#0) listed
count(#0)
    makes a variable that holds how many entities #0 has"""

REPLY_FORM = """\
Think about what to do next, then end your reply with exactly one line: `Final Answer:` and the variable \
that is your answer, or `Action:` and an action, for example:
Action: get_neighbors(#0, film.film.directed_by)"""

ENTITIES = "Entities: {entities}"
