# Copyright 2026 edge_llm_ros contributors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Copies a GGUF file with other role tokens and another chat template."""

import gguf

_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ '<|start_header_id|>' + message['role'] + "
    "'<|end_header_id|>\\n\\n' + message['content'] + '<|eot_id|>' }}{% endfor %}"
    '{% if add_generation_prompt %}'
    "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"
)
_RENAMED = {
    '<|im_start|>': '<|start_header_id|>', '<|im_end|>': '<|eot_id|>',
    '<|endoftext|>': '<|begin_of_text|>', '<repo_name>': '<|end_header_id|>',
}


def with_llama3_frames(source: str, target: str) -> None:
    """Write a copy of SmolLM2 whose vocabulary and template are framed as Llama 3's are."""
    copy_with(source, target, _RENAMED, _TEMPLATE)


def copy_with(source: str, target: str, renamed: dict[str, str], template: str) -> None:
    """Write a copy of a GGUF file with tokens renamed and another chat template."""
    reader = gguf.GGUFReader(source)
    architecture = reader.fields['general.architecture'].contents()
    writer = gguf.GGUFWriter(target, architecture)
    for name, field in reader.fields.items():
        if name.startswith('GGUF.') or name == 'general.architecture':
            continue
        value = field.contents()
        if name == 'tokenizer.ggml.tokens':
            value = [renamed.get(token, token) for token in value]
        if name == 'tokenizer.chat_template':
            value = template
        kind = field.types[0]
        if kind == gguf.GGUFValueType.ARRAY:
            writer.add_array(name, value)
        else:
            writer.add_key_value(name, value, kind)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
