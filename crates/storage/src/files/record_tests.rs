use contexture_core::{Message, Role};

use super::*;

fn content(texts: &[&str]) -> Content {
    let messages: Vec<Message> =
        texts.iter().map(|text| Message::text(Role::User, *text)).collect();
    Content::encode(&messages)
}

fn page(content: &Content) -> Page {
    serde_json::from_str(&format!(
        r#"{{"index":"usr-3","parent":"usr-0","place":7,"body":{{"detail":{{"content":"{}","messages":1,"counted":4,"weight":9}}}},
        "name":"Plan","description":"one\ntwo","visibility":"Hidden","standing":"coldArchived","author":"bot","trust":"tool",
        "sources":["usr-1"],"turn":"usr-2","version":4,"revision":9,"createdAt":"2025-01-01T00:00:00Z","updatedAt":"2025-01-02T00:00:00.5Z"}}"#,
        content.hash()
    ))
    .unwrap()
}

const PATH: &str = "sessions/s/pages/usr-3.json";

// B-03, B-04, B-05: a page's file holds all of it, its words included, and is read back as it was.
#[test]
fn a_page_comes_back_as_it_was() {
    for content in [
        content(&["first line\nsecond line"]),
        content(&[]),
        Content::verify(ContentHash::of(b"[ 1, {\"a\" : 2} ]"), b"[ 1, {\"a\" : 2} ]".to_vec())
            .unwrap(),
        Content::verify(ContentHash::of(b"no json"), b"no json".to_vec()).unwrap(),
        Content::verify(ContentHash::of(b"\xff\x00"), b"\xff\x00".to_vec()).unwrap(),
    ] {
        let record = Record::Page(page(&content), Some(content));
        let bytes = record.encode(PATH).unwrap();
        assert_eq!(Record::decode(PATH, Kind::Page, &bytes).unwrap(), record);
    }
}

#[test]
fn a_page_reads_well() {
    let content = content(&["first line\nsecond line"]);
    let bytes = Record::Page(page(&content), Some(content)).encode(PATH).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    for line in [
        "  \"index\": \"usr-3\",\n",
        "  \"type\": \"DetailPage\",\n",
        "  \"archived\": \"cold\",\n",
        "\"first line\",\n",
        "\"second line\"\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert!(text.ends_with("\"\n}\n"), "{text}");
}

// A file that was cut short, has a flipped bit or lies elsewhere is refused.
#[test]
fn damage_is_noticed() {
    let content = content(&["text"]);
    let bytes = Record::Page(page(&content), Some(content)).encode(PATH).unwrap();
    for length in 0..bytes.len() {
        assert!(Record::decode(PATH, Kind::Page, &bytes[..length]).is_err(), "{length}");
    }
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 4;
        assert!(Record::decode(PATH, Kind::Page, &flipped).is_err(), "{at}");
    }
    assert!(Record::decode("sessions/t/pages/usr-3.json", Kind::Page, &bytes).is_err());
}

#[test]
fn runs_are_kept_byte_for_byte() {
    for value in ["{\"a\": 1}", "{\"a\":[1,\"x\\ny\"]}", "plain\ntext", "", "12", "{broken"] {
        let record = Record::Run(RunRecord {
            key: "run/1".parse().unwrap(),
            version: Version(2),
            value: value.to_owned(),
            updated_at: Timestamp::from_millis(5),
        });
        let bytes = record.encode("sessions/s/runs/x.json").unwrap();
        let read = Record::decode("sessions/s/runs/x.json", Kind::Run, &bytes);
        assert_eq!(read.unwrap(), record);
    }
}
