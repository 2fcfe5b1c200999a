-- How many nodes each type has.
-- A node of several types counts under each of them; primary_nodes are those whose main type it is.

SELECT type, nodes + other_nodes AS nodes, nodes AS primary_nodes, sql_name
FROM types
ORDER BY nodes + other_nodes DESC, type;
