"""What the agent is told."""

INSTRUCTIONS = """\
You answer questions from a knowledge graph. You cannot see the graph; you explore it step by step. A set \
of entities that you find is kept as a variable, named #0, #1, … in the order in which they are made. You \
see the name of a variable and the type of its members, not the members themselves.

In each turn you take exactly one action:

get_relations(x)
    lists every relation that goes out of x, an entity of the question or a variable
get_neighbors(x, relation)
    makes a variable of all entities that x leads to by a relation that get_relations(x) listed
intersection(#a, #b)
    makes a variable of what is in both variables, which must be of one type
get_attributes(#v)
    lists every numeric or date attribute of the entities of a variable
argmax(#v, attribute)
argmin(#v, attribute)
    makes a variable of the entities with the largest or smallest value of an attribute that \
get_attributes(#v) listed
count(#v)
    makes a variable that holds how many entities #v has

Variables made by argmax, argmin and count can only be given as the final answer. When a variable holds \
what the question asks for, answer with it.

You have at most {max_interactions} actions, the final answer included. An action that cannot be carried \
out counts as one."""

REPLY_FORM = """\
Think about what to do next, then end your reply with exactly one line: `Action:` and an action, `Final \
Answer: #n` to answer with a variable, or `Final Answer: none` to give up. For example:
Action: get_relations(#0)"""

ENTITIES = "Entities: {entities}"
