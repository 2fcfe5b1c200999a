"""Publish a dataset: one folder that common libraries load unchanged.

    README.md                   dataset card, with the configurations for Hugging Face ``datasets`` and ``mteb``
    croissant.json              Croissant metadata (JSON-LD) for ``mlcroissant``
    SHA256SUMS                  checksum of every other file
    data/CONFIG/SPLIT.parquet   a table for each configuration and split
    corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv    BEIR's layout, of retrieval datasets
    qrels/SPLIT.txt             TREC judgements, for ``ranx``, ``ir_measures`` and ``ir_datasets``
    original/                   the files of the dataset, byte for byte

A benchmark describes its dataset as a :class:`~kbkit.benchmarks.publish.form.Publication`; everything else is shared.
"""
