-- -1 and empty values both mean that a value is missing.
CREATE MACRO given(value) AS nullif(nullif(trim(value), '-1'), '');
-- Some versions of these files quote texts that contain quotes, others do not.
CREATE MACRO unquoted(value) AS
  CASE WHEN value LIKE '"%"' AND length(value) > 1 THEN replace(value[2:-2], '""', '"') ELSE value END;

-- OGB numbers the nodes of each type from 0.
CREATE TABLE ids AS
SELECT type, entity::UINTEGER AS entity, mag::BIGINT AS mag FROM (
  SELECT 'author' AS type, entity, mag FROM author_ids
  UNION ALL SELECT 'institution', entity, mag FROM institution_ids
  UNION ALL SELECT 'field_of_study', entity, mag FROM field_ids
  UNION ALL SELECT 'paper', entity, mag FROM paper_ids);

CREATE TABLE paper_texts AS
WITH some_titles AS (FROM titles WHERE mag_id::BIGINT IN (SELECT mag FROM ids WHERE type = 'paper')),
     some_abstracts AS (FROM abstracts WHERE mag_id::BIGINT IN (SELECT mag FROM ids WHERE type = 'paper')),
     all_texts AS (
       SELECT mag_id, title, abstract FROM title_abstracts
       UNION ALL SELECT mag_id, unquoted(title), unquoted(abstract)
                 FROM some_titles FULL JOIN some_abstracts USING (mag_id))
SELECT mag_id::BIGINT AS mag, first(given(title) ORDER BY place) AS title,
       first(given(abstract) ORDER BY place) AS abstract
FROM (SELECT *, row_number() OVER () AS place FROM all_texts)
GROUP BY mag;

SELECT error('Missing texts: STaRK numbers the papers with texts. Add idx_title_abs.tsv, or set the option keys=mag')
WHERE getvariable('keys') = 'stark' AND NOT EXISTS (FROM paper_texts);

CREATE TABLE links AS
SELECT head::UINTEGER AS head, tail::UINTEGER AS tail, relation FROM (
  SELECT head, tail, 'affiliated_with' AS relation FROM affiliated_with
  UNION ALL SELECT head, tail, 'cites' FROM cites
  UNION ALL SELECT head, tail, 'has_topic' FROM has_topic
  UNION ALL SELECT head, tail, 'writes' FROM writes);

-- STaRK's part: papers with texts, then the nodes connected to them.
CREATE TABLE kept AS
WITH some_papers AS (SELECT entity FROM ids SEMI JOIN paper_texts USING (mag) WHERE type = 'paper'),
     some_authors AS (SELECT DISTINCT head AS entity FROM links
                      WHERE relation = 'writes' AND tail IN (FROM some_papers))
SELECT 'paper' AS type, entity FROM some_papers
UNION ALL SELECT 'author', entity FROM some_authors
UNION ALL SELECT DISTINCT 'institution', tail FROM links
          WHERE relation = 'affiliated_with' AND head IN (FROM some_authors)
UNION ALL SELECT DISTINCT 'field_of_study', tail FROM links
          WHERE relation = 'has_topic' AND head IN (FROM some_papers)
UNION ALL SELECT type, entity FROM ids WHERE getvariable('keys') = 'mag';

-- Numbered by type, within a type by OGB's numbers, papers by MAG's identifiers.
CREATE TABLE numbered AS
WITH type_order(type, rank) AS (VALUES ('author', 0), ('institution', 1), ('field_of_study', 2), ('paper', 3)),
     places AS (
       SELECT type, entity, mag, row_number() OVER (
                ORDER BY rank, CASE WHEN type = 'paper' AND getvariable('keys') = 'stark' THEN mag ELSE entity END
              ) - 1 AS place
       FROM ids JOIN type_order USING (type) SEMI JOIN kept USING (type, entity))
SELECT *, (CASE getvariable('keys') WHEN 'stark' THEN place ELSE mag END)::VARCHAR AS key FROM places;

CREATE TABLE described AS
SELECT 'author' AS type, AuthorId AS mag, DisplayName AS name, PaperCount, CitationCount FROM authors
WHERE AuthorId::BIGINT IN (SELECT mag FROM ids WHERE type = 'author')
UNION ALL BY NAME
SELECT 'institution' AS type, AffiliationId AS mag, DisplayName AS name, PaperCount, CitationCount FROM affiliations
UNION ALL BY NAME
SELECT 'field_of_study' AS type, FieldOfStudyId AS mag, DisplayName AS name, PaperCount, CitationCount, Level
FROM fields
UNION ALL BY NAME
SELECT 'paper' AS type, PaperId AS mag, OriginalTitle AS name, CitationCount, ReferenceCount, Year, Date, DocType, Doi,
       OriginalVenue, JournalId, ConferenceSeriesId FROM papers
WHERE PaperId::BIGINT IN (SELECT mag FROM ids WHERE type = 'paper');

CREATE TABLE paper_years AS SELECT row_number() OVER () - 1 AS entity, TRY_CAST(year AS INTEGER) AS year FROM years;

CREATE TABLE nodes AS
SELECT n.type, n.key, coalesce(t.title, given(d.name)) AS name, n.mag AS mag_id,
       coalesce(nullif(y.year, -1), TRY_CAST(given(d.Year) AS INTEGER)) AS year,
       TRY_CAST(given(d.Date) AS DATE) AS date,
       TRY_CAST(given(d.PaperCount) AS BIGINT) AS paper_count,
       TRY_CAST(given(d.CitationCount) AS BIGINT) AS citation_count,
       TRY_CAST(given(d.ReferenceCount) AS BIGINT) AS reference_count,
       TRY_CAST(given(d.Level) AS INTEGER) AS level,
       given(d.DocType) AS document_type, given(d.Doi) AS doi, given(d.OriginalVenue) AS venue,
       given(j.DisplayName) AS journal, given(c.DisplayName) AS conference
FROM numbered n
LEFT JOIN paper_texts t ON n.type = 'paper' AND n.mag = t.mag
LEFT JOIN paper_years y ON n.type = 'paper' AND n.entity = y.entity
LEFT JOIN described d ON n.type = d.type AND n.mag = d.mag::BIGINT
LEFT JOIN journals j ON given(d.JournalId) = j.JournalId
LEFT JOIN conferences c ON given(d.ConferenceSeriesId) = c.ConferenceSeriesId
ORDER BY n.place;

-- Edges to nodes of ogbn-mag outside of this part are dropped; edges to unknown nodes are reported.
CREATE TABLE ends AS SELECT i.type, i.entity, n.key FROM ids i LEFT JOIN numbered n USING (type, entity);
CREATE MACRO linked(link, from_type, to_type) AS TABLE
SELECT from_type AS head_type, coalesce(h.key, concat(from_type, ' ', l.head)) AS head, relation,
       to_type AS tail_type, coalesce(t.key, concat(to_type, ' ', l.tail)) AS tail
FROM links l
LEFT JOIN (FROM ends WHERE type = from_type) h ON h.entity = l.head
LEFT JOIN (FROM ends WHERE type = to_type) t ON t.entity = l.tail
WHERE relation = link AND (h.entity IS NULL OR h.key IS NOT NULL) AND (t.entity IS NULL OR t.key IS NOT NULL);
CREATE TABLE edges AS
FROM linked('affiliated_with', 'author', 'institution')
UNION ALL FROM linked('cites', 'paper', 'paper')
UNION ALL FROM linked('has_topic', 'paper', 'field_of_study')
UNION ALL FROM linked('writes', 'author', 'paper');

CREATE TABLE texts AS
SELECT 'paper' AS type, n.key, 'abstract' AS field, t.abstract AS text
FROM numbered n JOIN paper_texts t USING (mag) WHERE n.type = 'paper' AND t.abstract IS NOT NULL
ORDER BY n.place;

CREATE TABLE candidate_types AS SELECT 'paper' AS type;
