-- Create the tables nodes(type, key, name, ...), edges(head, relation, tail, ...) and texts(key, field, text).
-- Further columns of nodes and edges are attributes; a type has those that are not NULL in all of its nodes.

CREATE TABLE nodes AS
SELECT 'person' AS type, id AS key, name, born FROM people;

CREATE TABLE edges AS
SELECT a AS head, 'knows' AS relation, b AS tail, since FROM friends;

CREATE TABLE texts AS
SELECT id AS key, 'bio' AS field, bio AS text FROM people;
