-- Number of nodes of each type.
-- Nodes with several types count for each of them; primary_nodes is the number of nodes with this primary type.

SELECT type, nodes + other_nodes AS nodes, nodes AS primary_nodes, sql_name
FROM types
ORDER BY nodes + other_nodes DESC, type;
