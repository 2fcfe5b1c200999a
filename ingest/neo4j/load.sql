-- The reader provides nodes(space, key, labels, properties) and edges(head_space, head, relation, tail_space, tail,
-- properties). A space is where the ids of nodes are unique, empty in most exports.
ALTER TABLE nodes RENAME TO node_rows;
ALTER TABLE edges RENAME TO edge_rows;

SELECT error('No nodes in these files. Name the files of nodes too') WHERE (SELECT count(*) FROM node_rows) = 0;

CREATE TABLE label_sizes AS
SELECT label, count(*) AS size FROM (SELECT unnest(labels) AS label FROM node_rows) GROUP BY label;

CREATE TABLE ordered_labels AS
SELECT space, key, list(label ORDER BY if(getvariable('primary') = 'rarest', size, 0), place) AS labels
FROM (SELECT space, key, unnest(labels) AS label, generate_subscripts(labels, 1) AS place
      FROM (SELECT space, key, any_value(labels) AS labels FROM node_rows WHERE len(labels) > 0 GROUP BY space, key))
JOIN label_sizes USING (label) WHERE trim(label) <> '' GROUP BY space, key;

CREATE TABLE nodes AS
SELECT o.labels[1] AS type, o.labels[2:] AS types, n.* EXCLUDE (space, labels)
FROM node_rows n LEFT JOIN ordered_labels o ON o.space = n.space AND o.key = n.key ORDER BY n.rowid;

-- Nodes of two spaces can have one id: then the types of its ends tell which nodes an edge joins.
CREATE TABLE ids_of_two_spaces AS
SELECT key FROM node_rows GROUP BY key HAVING count(DISTINCT space) > 1;

CREATE TABLE edges AS
SELECT h.labels[1] AS head_type, t.labels[1] AS tail_type, e.* EXCLUDE (head_space, tail_space)
FROM edge_rows e
LEFT JOIN ordered_labels h ON h.space = e.head_space AND h.key = e.head AND h.key IN (FROM ids_of_two_spaces)
LEFT JOIN ordered_labels t ON t.space = e.tail_space AND t.key = e.tail AND t.key IN (FROM ids_of_two_spaces)
ORDER BY e.rowid;
