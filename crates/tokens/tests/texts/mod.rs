//! Varied texts, the same on every run: scripts, code, control tokens, long runs, any character.

const ALPHABETS: &[&str] = &[
    "abcdefghij XYZ'sdmtvell re\n\r\t.,!?/\\-_(){}[]<>|=+*&^%$#@~`\"0123456789 ",
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年，。！？ \n",
    "あいうえおかきくけこさしすせそアイウエオ日本語東京、。ー \n",
    "가나다라마바사아자차카타파하한국어데이터 .\n",
    "😀🦀👩\u{200d}👩🏽🇩🇪❤\u{fe0f}1\u{20e3} ab\n",
    "абвгдЖЗИЙאבגדابتثअआइกขคำ \n",
    "  \u{a0}\u{2003}\u{3000}\t\r\n\u{85}\u{2028}x1,é中",
    "ＡＢｃ１２ǅǆⅣ²½٣ªºʰ\u{301}aA中1 '’sS",
    "aA'sSrReEvVmMlLdDtT \u{212a}'",
];

const WORDS: &[&str] = &[
    "<|endoftext|>",
    "<|im_start|>",
    "fn main() {\n    let x = 1;\n}",
    "\n\n\n",
    "   ",
    "hello world",
    "don't",
    "I'LL",
    "数据库",
    "データ",
    "데이터",
    "http://example.com/a?b=c",
    "{\"a\": [1, 2, 3]}",
    "\r\n",
    "================",
    "12345678901234567890",
    ".\n/",
    ")\n//",
];

/// Makes some texts; equal seeds give equal texts.
pub(crate) fn varied(seed: u64, texts: usize) -> Vec<String> {
    let mut random = Random(seed);
    let alphabets: Vec<Vec<char>> =
        ALPHABETS.iter().map(|letters| letters.chars().collect()).collect();
    (0..texts).map(|_| text(&mut random, &alphabets)).collect()
}

/// Returns all tokens of many texts, and a digest of the count of each.
pub(crate) fn digest(count: impl Fn(&str) -> u64) -> (u64, u64) {
    let mut texts = varied(42, 4_000);
    texts.extend(["a", " ", "\n", "中", "🦀", "=", "\u{301}"].map(|unit| unit.repeat(20_000)));
    texts.iter().map(|text| count(text)).fold((0, 0), |(total, digest), count| {
        (total + count, (digest ^ count).wrapping_mul(0x100_0000_01b3).rotate_left(5))
    })
}

fn text(random: &mut Random, alphabets: &[Vec<char>]) -> String {
    let mut text = String::new();
    let alphabet = &alphabets[random.below(alphabets.len())];
    for _ in 0..1 + random.below(40) {
        match random.below(12) {
            0 => text.push_str(WORDS[random.below(WORDS.len())]),
            1 => text.push(char::from_u32(random.below(0x11_0000) as u32).unwrap_or(' ')),
            2 => {
                let letter = alphabet[random.below(alphabet.len())];
                text.extend(std::iter::repeat_n(letter, random.below(60)));
            }
            3 => {
                let other = &alphabets[random.below(alphabets.len())];
                text.push(other[random.below(other.len())]);
            }
            _ => {
                (0..random.below(8)).for_each(|_| text.push(alphabet[random.below(alphabet.len())]))
            }
        }
    }
    text
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 16) % bound as u64) as usize
    }
}
