"""The part of PyYAML that user-data classes need to return templates, for interpreters without PyYAML.

JSON is YAML, so templates are written as JSON. Other YAML cannot be read here.
"""

import json


class YAMLError(Exception):
    pass


def safe_dump(data, stream=None, **options):
    text = json.dumps(data, indent=2, default=str)
    if stream is None:
        return text
    stream.write(text)
    return None


dump = safe_dump


def safe_load(stream):
    text = stream if isinstance(stream, str) else stream.read()
    try:
        return json.loads(text)
    except ValueError:
        raise YAMLError("the interpreter of scripts.python lacks PyYAML, which this script needs: install it there")
