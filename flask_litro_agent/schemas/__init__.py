"""What marshmallow schemas mean outside of Python: their JSON Schema, and the arguments they read.

    json_schema(schema)            the schema as a document, and what the document cannot say
    openai_strict(document)        the document as OpenAI's strict mode takes it
    anthropic_strict(documents)    a request's documents as Anthropic's strict mode takes them
    load_arguments(schema, raw)    what a tool gets
    canonicalise(schema, raw)      the one form of arguments that is shown, compared and run
    pointer(path, name)            how a place in them is written
    write_schema_faults(schema)    why a schema has no such form

The rule that must not be broken: a document accepts nothing that its schema's ``load`` rejects, apart from its
``losses`` and from two things that JSON leaves open: 1.0 is the number 1, and a number has no largest size.
"""

from flask_litro_agent.schemas.arguments import load_arguments
from flask_litro_agent.schemas.canonical import MAX_CANONICAL, Canonical, canonicalise
from flask_litro_agent.schemas.document import JSONSchema, json_schema
from flask_litro_agent.schemas.filled import pointer
from flask_litro_agent.schemas.profiles import anthropic_strict, openai_strict
from flask_litro_agent.schemas.write_faults import write_schema_faults

__all__ = [
    "MAX_CANONICAL",
    "Canonical",
    "JSONSchema",
    "anthropic_strict",
    "canonicalise",
    "json_schema",
    "load_arguments",
    "openai_strict",
    "pointer",
    "write_schema_faults",
]
