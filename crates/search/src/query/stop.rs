//! Words and characters that stand in too many texts to say what one is about.

/// Returns whether a folded word is one.
pub(super) fn is_stop_word(word: &str) -> bool {
    WORDS.binary_search(&word).is_ok()
}

/// Returns whether a folded word is one that questions need and answers can do without, such as "kind".
pub(super) fn is_weak_word(word: &str) -> bool {
    WEAK.binary_search(&word).is_ok()
}

/// Returns whether a single Chinese character is one. Pairs with it still count.
pub(super) fn is_stop_character(letter: &str) -> bool {
    CHARACTERS.contains(letter)
}

const CHARACTERS: &str = "的了是在我你他她它们这那有和与也都就不吗呢啊吧呀哦着过很还把被给让对从到为之其个什么怎哪谁几多少\
真太好会要说想去来上下没样时候得能可以请问嘿哇嗯哈啦呗嘛最更再又才只但而且因所如果已经正一些点";

const WORDS: [&str; 130] = [
    "a", "about", "after", "again", "all", "am", "an", "and", "any", "are", "aren", "as", "at",
    "be", "because", "been", "before", "being", "between", "both", "but", "by", "can", "could",
    "d", "did", "didn", "do", "does", "doesn", "doing", "don", "down", "during", "each", "for",
    "from", "had", "has", "have", "he", "her", "here", "hers", "him", "his", "how", "i", "if",
    "in", "into", "is", "isn", "it", "its", "just", "ll", "m", "may", "me", "might", "mine",
    "more", "most", "must", "my", "no", "nor", "not", "o", "of", "off", "on", "once", "only", "or",
    "other", "our", "out", "over", "own", "re", "s", "shall", "she", "should", "so", "some",
    "such", "t", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this",
    "those", "to", "too", "under", "until", "up", "us", "ve", "very", "was", "wasn", "we", "were",
    "weren", "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will",
    "with", "would", "y", "you", "your", "yours",
];

/// Words that questions need and answers can do without.
const WEAK: [&str; 26] = [
    "come", "first", "get", "go", "kind", "kinds", "long", "make", "many", "much", "name", "names",
    "new", "people", "sort", "sorts", "thing", "things", "time", "times", "type", "types", "use",
    "used", "way", "ways",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted() {
        assert!(WORDS.is_sorted() && WEAK.is_sorted());
        assert!(is_stop_word("the") && !is_stop_word("thing"));
        assert!(is_stop_character("的") && !is_stop_character("书"));
    }
}
