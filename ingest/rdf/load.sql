-- The reader provides quads(file, s, p, o, g) with terms in N-Quads syntax, and declared prefixes in rows without p.
CREATE TABLE rdf_prefixes AS SELECT s AS prefix, arg_min(o, rowid) AS iri FROM quads WHERE p IS NULL GROUP BY s ORDER BY s;

-- Blank nodes are local to a file: number them by first appearance.
CREATE TABLE blank AS
SELECT file, label, '<urn:kbkit:blank:' || row_number() OVER (ORDER BY min(place)) || '>' AS iri FROM (
  SELECT file, s AS label, 3 * rowid AS place FROM quads WHERE s[1:2] = '_:'
  UNION ALL SELECT file, o, 3 * rowid + 1 FROM quads WHERE o[1:2] = '_:'
  UNION ALL SELECT file, g, 3 * rowid + 2 FROM quads WHERE g[1:2] = '_:'
) GROUP BY file, label;

CREATE TABLE statements AS
SELECT coalesce(bs.iri, s) AS s, p, coalesce(bo.iri, o) AS o, coalesce(bg.iri, g, '') AS g, min(q.rowid) AS place
FROM quads q
LEFT JOIN blank bs ON bs.file = q.file AND bs.label = q.s
LEFT JOIN blank bo ON bo.file = q.file AND bo.label = q.o
LEFT JOIN blank bg ON bg.file = q.file AND bg.label = q.g
WHERE p <> '<urn:kbkit:type>'  -- added by kbkit if the source was exported from a KB
GROUP BY ALL;
DROP TABLE quads;

CREATE MACRO bare(term) AS term[2:-2];
CREATE MACRO local_name(iri) AS coalesce(nullif(regexp_extract(iri, '([^/#:]+)[/#:]?$', 1), ''), iri);
-- The name of an IRI whose local name others have too starts with its prefix, or with a word of its namespace, unless
-- it has the empty prefix.
CREATE MACRO namespace(iri) AS regexp_replace(iri, '[^/#:]+[/#:]?$', '');
CREATE MACRO path_word(space) AS list_filter(
  regexp_extract_all(regexp_replace(space, '^[A-Za-z][A-Za-z0-9+.-]*:(//[^/#]*)?', ''), '[A-Za-z][A-Za-z0-9_]+'),
  lambda word: NOT regexp_full_match(word, 'v[0-9]+'))[-1];
CREATE MACRO host_word(space) AS regexp_extract(space, '([A-Za-z0-9-]+)\.[A-Za-z]+(:[0-9]+)?/', 1);
CREATE MACRO own_name(term, alike) AS CASE
  WHEN alike = 1 OR namespace(term) = (SELECT min(iri) FROM rdf_prefixes WHERE prefix = '') THEN local_name(term) ELSE
  regexp_replace(coalesce((SELECT min(prefix) FROM rdf_prefixes WHERE rdf_prefixes.iri = namespace(term)),
                          path_word(namespace(term)), nullif(host_word(namespace(term)), ''), 'other'),
                 '[^A-Za-z0-9]+', '_', 'g') || '_' || local_name(term) END;
CREATE MACRO numbered(name, number) AS CASE WHEN number = 1 THEN name ELSE name || '_' || number END;
CREATE MACRO language(term) AS regexp_extract(term, '"@([A-Za-z0-9-]+)$', 1);
-- The text of a literal. Escaped backslashes first, so that the next character is not taken for an escape.
CREATE MACRO unescape(text) AS list_aggregate(list_transform(string_split(text, '\\'), lambda part:
  list_reduce(list_distinct(regexp_extract_all(part, '\\u([0-9A-Fa-f]{4})', 1)),
              lambda done, code: replace(done, '\u' || code, chr(('0x' || code)::INTEGER)),
  replace(replace(replace(replace(replace(replace(part,
    '\"', '"'), '\n', chr(10)), '\r', chr(13)), '\t', chr(9)), '\b', chr(8)), '\f', chr(12)))), 'string_agg', '\');
CREATE MACRO lexical(term) AS regexp_extract(term, '(?s)^"(.*)"(@[A-Za-z0-9-]+|\^\^<[^>]*>)?$', 1);
CREATE MACRO value(term) AS CASE WHEN contains(term, '\') THEN unescape(lexical(term)) ELSE lexical(term) END;
-- 0 the preferred language or a dialect of it, 1 none, 2 another
CREATE MACRO language_rank(term) AS
  CASE WHEN language(term) = '' THEN 1
       WHEN lower(split_part(language(term), '-', 1)) = lower(getvariable('language')) THEN 0 ELSE 2 END;
-- The position of a predicate in an option, by its IRI or its ending.
CREATE MACRO place_in(option, term) AS coalesce(
  list_position(string_split(getvariable(option), ' '), bare(term)),
  list_position(string_split(getvariable(option), ' '), local_name(bare(term))));

CREATE TABLE literals AS
SELECT bare(s) AS key, p, value(o) AS value, language_rank(o) AS rank, place,
       place_in('labels', p) AS label_place, place_in('aliases', p) IS NOT NULL AS is_alias,
       place_in('descriptions', p) AS text_place
FROM statements WHERE o[1] = '"';

CREATE TABLE names AS
SELECT key, arg_min(value, (rank, label_place, value)) FILTER (label_place IS NOT NULL) AS name,
       list(value ORDER BY place) FILTER (rank < 2) AS all_names
FROM literals WHERE (label_place IS NOT NULL OR is_alias) AND trim(value) <> '' GROUP BY key;

-- The largest classes become types named by the end of their IRI.
CREATE TABLE typings AS
SELECT DISTINCT bare(s) AS key, bare(o) AS class FROM statements WHERE place_in('types', p) IS NOT NULL AND o[1] = '<';
CREATE TABLE type_iris AS
SELECT numbered(name, row_number() OVER (PARTITION BY lower(name) ORDER BY size DESC, class)) AS type, class AS iri, size
FROM (SELECT class, size, own_name(class, alike) AS name
      FROM (SELECT *, count(*) OVER (PARTITION BY lower(local_name(class))) AS alike
            FROM (SELECT class, count(*) AS size FROM typings GROUP BY class
                  ORDER BY size DESC, class LIMIT getvariable('max_types')::INT)));

-- A node's primary type is its smallest, most specific class.
CREATE TABLE node_classes AS
SELECT key, list(type ORDER BY size, type) AS all_types FROM typings JOIN type_iris ON iri = class GROUP BY key;

CREATE TABLE links AS
SELECT bare(s) AS head, bare(p) AS predicate, bare(o) AS tail, min(place) AS place FROM statements
WHERE o[1] = '<' AND place_in('types', p) IS NULL GROUP BY ALL;
CREATE TABLE relation_iris AS
SELECT numbered(name, row_number() OVER (PARTITION BY lower(name) ORDER BY size DESC, predicate)) AS relation,
       predicate AS iri
FROM (SELECT predicate, size, own_name(predicate, alike) AS name
      FROM (SELECT *, count(*) OVER (PARTITION BY lower(local_name(predicate))) AS alike
            FROM (SELECT predicate, count(*) AS size FROM links GROUP BY predicate)));

CREATE TABLE entity AS
SELECT key, min(place) AS place FROM (
  SELECT bare(s) AS key, 2 * place AS place FROM statements
  UNION ALL SELECT tail, 2 * place + 1 FROM links
) GROUP BY key;

-- One column per literal predicate; names that kbkit reserves get an underscore.
CREATE TABLE attribute_names AS
SELECT p, CASE WHEN lower(name) IN ('id', 'type', 'key', 'name', 'aliases', 'types', 'position') THEN name || '_'
               WHEN alike > 1 THEN name || '_' || alike ELSE name END AS attribute
FROM (SELECT *, row_number() OVER (PARTITION BY lower(name) ORDER BY size DESC, p) AS alike
      FROM (SELECT p, local_name(bare(p)) AS name, count(*) AS size FROM literals
            WHERE label_place IS NULL AND text_place IS NULL AND NOT is_alias AND rank < 2
            GROUP BY p ORDER BY size DESC, p LIMIT getvariable('max_attributes')::INT));
CREATE TABLE attribute_values AS
SELECT key, attribute, value FROM literals JOIN attribute_names USING (p)
WHERE label_place IS NULL AND text_place IS NULL AND NOT is_alias AND rank < 2
UNION ALL SELECT NULL, '_none', NULL;  -- PIVOT needs a column
CREATE TABLE attributes AS PIVOT attribute_values ON attribute USING list(value ORDER BY value) GROUP BY key;

CREATE TABLE nodes AS
SELECT all_types[1] AS type, all_types[2:] AS types, e.key,
       coalesce(name, nullif(local_name(e.key), '')) AS name,
       list_filter(all_names, lambda other: other IS DISTINCT FROM name) AS aliases, a.* EXCLUDE (key, _none)
FROM entity e LEFT JOIN names n ON n.key = e.key LEFT JOIN node_classes c ON c.key = e.key
LEFT JOIN attributes a ON a.key = e.key
ORDER BY e.place;

CREATE TABLE edges AS SELECT head, relation, tail FROM links JOIN relation_iris ON iri = predicate;

CREATE TABLE texts AS
SELECT key, 'description' AS field, value AS text FROM (
  SELECT key, value, rank, place, min(rank) OVER (PARTITION BY key) AS best FROM literals WHERE text_place IS NOT NULL)
WHERE rank = best ORDER BY place;
