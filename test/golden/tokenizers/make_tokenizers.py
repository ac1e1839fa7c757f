"""
Makes families.json.gz of this directory: tokenizers of the families that encoders for Korean use, 221 texts, and the ids that the
training's libraries give them. The vocabularies are small and trained on the texts below.

    python3 -m venv venv && venv/bin/pip install tokenizers==0.23.2 sentencepiece==0.2.2 protobuf
    venv/bin/python test/golden/tokenizers/make_tokenizers.py

Ids are those of the Python library, with which encoders are trained; `cut_ids` are those of all texts as one, truncated. For the Unigram families sentencepiece, which trained their
vocabularies, encodes each text too, and the script prints how many get the same pieces: 176 to 207 of 221, since the library normalizes
whole graphemes (a run of jamo is one), and handles white space and the names of special tokens in another way.
"""

import base64
import gzip
import io
import json
import pathlib
import random
import unicodedata

import sentencepiece
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

here = pathlib.Path(__file__).parent
count = 221
space = "\u2581"

snippets = [
    "", " ", "오늘 진짜 대박", "ㅋㅋㅋㅋ", "ㅋㅋㅠㅠ", "ㅇㅏㄴㅣ", "ㅇㅏㄴㅣ 이게 뭐임ㅋㅋ", "ㄹㅇㅋㅋ", "ㅗㅜㅑ", "ㄱㄱㄱ ㄴㄴ", "ㅠㅠㅠㅜㅜ", "아니ㅣㅣㅣ",
    "진짜ㅏㅏㅏ", "뭐야ㅑㅑ", "헐ㄷㄷ", "ㅎㅇ", "ㅂㅂ~", "ㅅㅂ", "ㅈㄴ 웃기네", "ㅇㅈ?ㅇㅇㅈ", "ㄳㄳ", "ㅆㅅㅌㅊ", "ᄏ큐ᅲ", "아니", "ㆍ아래아ㆍ",
    unicodedata.normalize("NFD", "오늘 진짜 대박 사진 후기"), unicodedata.normalize("NFD", "값싼 닭볶음"), unicodedata.normalize("NFKD", "㈜한국 ㉠ ㍿"),
    "ＡＢＣ１２３！？", "ｱｲｳ ﾊﾝｶｸ", "ﾡﾢ ￦１，０００", "㈜회사 ㉮ ㊗", "①②③ ⅣⅧ ½ ²", "ﬁne ﬂow", "ΟΔΥΣΣΕΥΣ", "ΣΑΣ ΤΗΣ, Σ", "ὈΔΥΣΣΕΎΣ.", "İstanbul ISPARTA",
    "Straße STRASSE ẞ", "ǅ Ǆ ǆ", "café cafe\u0301 CAFÉ", "naïve résumé", "뷁 쀍 똠방각하", "漢字とかな", "中文没有空格", "カタカナ ガギグ", "สวัสดี", "مرحبا بالعالم",
    "🙂", "👍🏽👨‍👩‍👧‍👦", "❤️ ♥ ☆★", "ㅋㅋ😂😂ㅋㅋ", "©®™", "\u200b영폭\u200b공백", "\ufeffBOM", "소프트\u00ad하이픈", "\u00a0nbsp\u00a0", "\u3000전각\u3000공백\u3000",
    "탭\t탭", "줄\n바꿈\r\n둘", "  앞뒤  공백  ", "가  나   다", "\u2028줄 분리", "\x00\x01제어\x7f", "\ufffd대체", "\ue000사설", "한글1234", "123456789", "3.14 1,000원 50%",
    "2024-01-02 03:04", "abc!! 안녕_하", "user_name@example.com", "https://gall.example.com/?id=1&no=2#x", "#해시 @멘션", "don't I'll we've", "HELLO World iPhone15",
    "camelCase snake_case", "...…‥", "\"따옴표\" '작은' “둥근” ‘것’", "「일본」『괄호』", "(괄호)[대]{중}<꺾>", "--- —– -", "a+b=c", "▁밑줄▁", "__init__", "[CLS] [SEP] [PAD]",
    "<s>가</s>", "[MASK]로", "가[MASK]나", "[갤러리]", "움짤", "움짤방", "움짤 방", "새움짤", "움짤,", "gif움짤", "짤", "짤방 짤", "ㅋ짤ㅋ", "후기짤", "<|endoftext|>", "<0x41>",
    "사진 봐라 ㅋㅋㅋ", "plain ASCII title 1234", "후기 글 입니다", "글", "가", "a", "?", "힣", "x" * 120, "ㅋ" * 70, "가" * 110, "대박 " * 20, "ᄀᄀᄀ각", "각ᆨ", "ᅡᅢ",
    "\u1112\u1161\u11ab\u1100\u1173\u11af", "\ud55c\u11ab", "ㅏ가ㅏ", "Å Å Å", "ﷺ", "①짤②", "１짤", "_짤_", "짤짤", "é짤",
]
lines = [
    "오늘 진짜 대박 사진 후기 글 입니다", "사진 봐라 ㅋㅋㅋ 아니 이게 뭐임", "plain ASCII title 1234 hello world", "漢字とかな カタカナ 中文", "user name example com",
    "개추 주작 념글 갤러리 움짤 짤방", "아니 ㅋㅋ ㅠㅠ ㄹㅇ ㅇㅈ", "don't i'll we've café naïve", "3.14 1,000원 50% 2024-01-02", "(괄호) [대] {중} <꺾> \"따옴표\"",
]


def texts():
    dice = random.Random(53)
    made = list(snippets)
    while len(made) < count:
        made.append(dice.choice(["", " ", "  ", "\n"]).join(dice.choices(snippets[2:], k=dice.randint(2, 6))))
    assert len(made) == count
    return made


corpus = [*lines * 5, *(line.replace(" ", "") for line in lines)]
added = dict(single_word=False, lstrip=False, rstrip=False, normalized=False)


def token(content, **options):
    from tokenizers import AddedToken

    return AddedToken(content, **{**added, **options})


def bert(normalizer, pre_tokenizer=None, lines=corpus, words=(), continuing="##"):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", continuing_subword_prefix=continuing))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer or pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(lines, trainers.WordPieceTrainer(
        vocab_size=500, special_tokens=special, show_progress=False, continuing_subword_prefix=continuing))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.add_tokens([token(word, single_word=True, normalized=True) for word in words])
    return tokenizer


def byte_level(pre_tokenizer, normalizer=None, special=(), post=None):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(
        vocab_size=600, special_tokens=list(special), show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    if post is not None:
        tokenizer.post_processor = post
    return tokenizer


def gpt2():
    return byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), special=["<|endoftext|>"])


def roberta():
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    post = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True), special=special, post=post)
    tokenizer.add_special_tokens([token("<mask>", lstrip=True)])
    return tokenizer


def qwen():
    pattern = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|" r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    return byte_level(pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]),
                      normalizers.NFC(), ["<|endoftext|>"])


def llama():
    """BPE with byte_fallback and without a pre-tokenizer."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(space), normalizers.Replace(" ", space)])
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=700, special_tokens=special, show_progress=False))
    file = json.loads(tokenizer.to_str())
    file["pre_tokenizer"] = None
    file["added_tokens"] = file["added_tokens"][:3]
    tokenizer = Tokenizer.from_str(json.dumps(file))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    return tokenizer


def trained_pieces(rule, byte_fallback=False, vocab_size=420):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus), model_writer=model, vocab_size=vocab_size + 256 * byte_fallback, model_type="unigram",
        normalization_rule_name=rule, byte_fallback=byte_fallback, hard_vocab_limit=False, minloglevel=2, num_threads=1)
    return model.getvalue()


def charsmap_of(model):
    from sentencepiece import sentencepiece_model_pb2 as proto

    parsed = proto.ModelProto()
    parsed.ParseFromString(model)
    return parsed.normalizer_spec.precompiled_charsmap


def unigram(model, special, unknown, byte_fallback=False):
    """The pieces of the model after the special tokens of the family, as converters arrange them."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    pieces = [(processor.id_to_piece(id), processor.get_score(id)) for id in range(3, processor.get_piece_size())]
    return processor, Tokenizer(models.Unigram([*((name, 0.0) for name in special), *pieces], unknown, byte_fallback))


def e5():
    """XLM-R, multilingual-e5, bge-m3."""
    model = trained_pieces("nmt_nfkc")
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    processor, tokenizer = unigram(model, special, 3)
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Precompiled(charsmap_of(model)), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    tokenizer.add_special_tokens([token(name) for name in special])
    tokenizer.add_special_tokens([token("<mask>", lstrip=True)])
    return tokenizer, processor


def xlm_roberta():
    tokenizer, processor = e5()
    tokenizer.normalizer = tokenizer.normalizer[0]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")])
    return tokenizer, processor


def deberta():
    model = trained_pieces("nmt_nfkc", byte_fallback=True)
    processor, tokenizer = unigram(model, ["[PAD]", "[CLS]", "[SEP]", "[UNK]"], 3, True)
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Strip(), normalizers.Precompiled(charsmap_of(model)), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    tokenizer.add_special_tokens(["[PAD]", "[CLS]", "[SEP]"])
    return tokenizer, processor


def t5():
    """Unigram with byte_fallback, and no special token at the beginning."""
    model = trained_pieces("identity", byte_fallback=True)
    processor, tokenizer = unigram(model, ["<pad>", "</s>", "<unk>"], 2, True)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    tokenizer.add_special_tokens(["<pad>", "</s>"])
    return tokenizer, processor


def albert():
    model = trained_pieces("nmt_nfkc")
    processor, tokenizer = unigram(model, ["<pad>", "<unk>", "[CLS]", "[SEP]"], 1)
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(), normalizers.StripAccents(),
        normalizers.Lowercase(), normalizers.Precompiled(charsmap_of(model)), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.add_special_tokens(["<pad>", "[CLS]", "[SEP]"])
    return tokenizer, None


def static_embeddings():
    """A vocabulary without the mark of a space, and without special tokens: unknown words stay apart."""
    pieces = [("<unk>", 0.0), *((f"{space}{word}", -2.0 - index / 10) for index, word in enumerate(["오늘", "진짜", "대박", "a"])), ("가", -4.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, 0, False))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    return tokenizer


def words():
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()])
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator([*corpus, *snippets], trainers.WordLevelTrainer(
        vocab_size=300, special_tokens=["[PAD]", "[UNK]"], show_progress=False))
    return tokenizer


def splits():
    """The pre-tokenizers that cut at punctuation and digits, and each behaviour of Split."""
    parts = [
        pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.Digits(individual_digits=False),
        pre_tokenizers.Split(Regex("[ㄱ-ㅎ]+"), "merged_with_previous"), pre_tokenizers.Split("짤", "merged_with_next"),
        pre_tokenizers.Split(" ", "removed"), pre_tokenizers.Split(Regex(r"\w+|[^\w\s]+"), "removed", invert=True),
        pre_tokenizers.CharDelimiterSplit("/"),
    ]
    return bert(normalizers.Lowercase(), pre_tokenizers.Sequence(parts))


families = {
    "BERT, lower case": lambda: bert(normalizers.BertNormalizer(lowercase=True)),
    "BERT with case and single words": lambda: bert(
        normalizers.BertNormalizer(lowercase=False, strip_accents=False), words=["짤", "움짤", "ABC"]),
    "WordPiece of jamo": lambda: bert(
        normalizers.Sequence([normalizers.NFKD(), normalizers.Lowercase()]), words=["짤"]),
    "GPT-2": gpt2,
    "RoBERTa": roberta,
    "Qwen": qwen,
    "Llama 2": llama,
    "multilingual-e5, bge-m3": e5,
    "XLM-RoBERTa": xlm_roberta,
    "DeBERTa-v3": deberta,
    "T5 with byte_fallback": t5,
    "ALBERT": albert,
    "static embeddings": static_embeddings,
    "WordLevel": words,
    "Split, Digits, Punctuation": splits,
}


def main():
    made = []
    charsmap = charsmap_of(trained_pieces("nmt_nfkc"))
    for name, make in families.items():
        tokenizer, processor = result if isinstance(result := make(), tuple) else (result, None)
        ids = [tokenizer.encode(text).ids for text in texts()]
        if processor is not None:
            compare(name, tokenizer, processor)
        # It is large, and the same in each file.
        file = tokenizer.to_str().replace(base64.b64encode(charsmap).decode(), "nmt_nfkc")
        made.append({"name": name, "tokenizer": json.loads(file), "ids": ids, "cut_ids": cut(tokenizer)})
    content = json.dumps(
        {"texts": texts(), "nmt_nfkc": base64.b64encode(charsmap).decode(), "families": made},
        ensure_ascii=False, separators=(",", ":"))
    (here / "families.json.gz").write_bytes(gzip.compress(content.encode(), mtime=0))


def cut(tokenizer):
    """Ids of all texts as one, by tokens_max."""
    made = {}
    for tokens_max in [3, 16, 128, 512]:
        tokenizer.enable_truncation(tokens_max)
        made[tokens_max] = tokenizer.encode(" ".join(texts())).ids
    return made


def compare(name, tokenizer, processor):
    """Special tokens apart; sentencepiece prints an unknown piece as its text."""
    known = set(tokenizer.get_vocab())
    differing = []
    for text in texts():
        expected = [piece if piece in known else "" for piece in processor.encode(text, out_type=str)]
        actual = tokenizer.encode(text, add_special_tokens=False).tokens
        unknown = {"<unk>", "[UNK]"}
        actual = [piece if piece in known and piece not in unknown else "" for piece in actual]
        if actual != expected:
            differing.append(text)
    print(f"{name}: sentencepiece gives {count - len(differing)} of {count} texts the same pieces")


main()
