CREATE TABLE source_file AS
SELECT file, if(count(*) OVER (PARTITION BY stem) = 1, stem, folder || '/' || stem) AS table_id,
       replace(stem, '_', ' ') AS title
FROM (SELECT file, regexp_extract(file, '([^/]+?)(\.[A-Za-z]+)?(\.gz)?$', 1) AS stem,
             regexp_extract(file, '([^/]+)/[^/]+$', 1) AS folder FROM (SELECT DISTINCT file FROM files));

CREATE TABLE source_tables AS
SELECT table_id, title,
       CASE WHEN getvariable('header') = 'none' THEN list_transform(cells, lambda cell, i: 'Column ' || i)
            WHEN len(list_filter(cells, lambda cell: NOT regexp_full_match(trim(cell), '[-+0-9.,%]*'))) = 0
            THEN error('The first line of ' || file || ' has only numbers. Name the columns, or set header to none')
            ELSE cells END AS header
FROM files JOIN source_file USING (file) WHERE position = 0 ORDER BY table_id;


CREATE TABLE source_rows AS
SELECT table_id, position, cells FROM files JOIN source_file USING (file)
WHERE position > 0 OR getvariable('header') = 'none';
