CREATE TABLE edges AS
SELECT x_index AS head, CASE getvariable('relation') WHEN 'fine' THEN relation ELSE display_relation END AS relation,
       y_index AS tail, CASE getvariable('relation') WHEN 'fine' THEN display_relation END AS display
FROM kg;

-- A corrupt download has invalid node indices, or nodes that differ between rows.
CREATE MACRO whole(value) AS coalesce(regexp_full_match(value, '[0-9]{1,9}'), false);
SELECT error(concat('kg.csv, line ', line, ' has the node index ', coalesce('''' || bad || '''', 'of nothing'),
                    ', which is no integer; is the download whole?'))
FROM (SELECT line, CASE WHEN whole(head) THEN tail ELSE head END AS bad
      FROM (SELECT *, row_number() OVER () + 1 AS line FROM edges)
      WHERE NOT whole(head) OR NOT whole(tail) ORDER BY line LIMIT 1);

CREATE TABLE node_rows AS
SELECT x_index::UINTEGER AS node, x_id AS source_id, x_type AS type, x_name AS name, x_source AS source FROM kg
UNION
SELECT y_index::UINTEGER, y_id, y_type, y_name, y_source FROM kg;

SELECT error(concat('kg.csv describes node ', node, ' in ', count(*), ' ways: ',
                    string_agg(concat_ws(', ', type, name, source_id, source), '; '
                               ORDER BY length(source), type, name),
                    '; is the download whole?'))
FROM node_rows
WHERE node = (SELECT min(node) FROM (SELECT node FROM node_rows GROUP BY node HAVING count(*) > 1))
GROUP BY node;

CREATE TABLE nodes AS
SELECT type, node::VARCHAR AS key, name, list_filter(names, lambda other: other <> name) AS aliases, source_id, source
FROM node_rows LEFT JOIN (
  SELECT TRY_CAST(node_index AS UINTEGER) AS node, list(DISTINCT mondo_name ORDER BY mondo_name) AS names
  FROM disease_features WHERE mondo_name <> '' GROUP BY node
) USING (node)
ORDER BY node;

-- Both files have a row per joined source: a text often occurs in several rows, and is kept once.
CREATE TABLE texts AS
SELECT node_index AS key, 'drug' AS type, field, trim(text) AS text
FROM (UNPIVOT drug_features ON
      description, half_life, indication, mechanism_of_action, protein_binding, pharmacodynamics, state, atc_1, atc_2,
      atc_3, atc_4, category, "group", pathway, molecular_weight, tpsa, clogp
      INTO NAME field VALUE text)
UNION ALL
SELECT node_index, 'disease', field, trim(text)
FROM (UNPIVOT disease_features ON
      mondo_definition, umls_description, orphanet_definition, orphanet_prevalence, orphanet_epidemiology,
      orphanet_clinical_description, orphanet_management_and_treatment, mayo_symptoms, mayo_causes, mayo_risk_factors,
      mayo_complications, mayo_prevention, mayo_see_doc
      INTO NAME field VALUE text);
