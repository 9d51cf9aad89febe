//! `contexture tools`, and the loop that docs/mcp.md shows.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::support::Sandbox;

#[test]
fn tools_are_printed_and_called() {
    let sandbox = Sandbox::with_pages();
    for format in ["openai", "responses", "anthropic", "gemini"] {
        let tools = sandbox.shell(&format!("contexture tools --format {format}")).output().unwrap();
        let tools: Value = serde_json::from_slice(&tools.stdout).unwrap();
        assert!(tools.to_string().contains("\"expand\""), "{format}: {tools}");
    }
    let call = r#"{"type":"tool_use","id":"c1","name":"read","input":{"page":"usr-1"}}"#;
    sandbox.write("call.json", call);
    let answered = sandbox.json(&["tools", "call", "--format", "anthropic", "call.json"]);
    let result = &answered["messages"][0]["content"][0];
    assert_eq!(result["tool_use_id"], "c1");
    assert!(result["content"].as_str().unwrap().ends_with("---\none"), "{result}");
    // A call that fails is answered; what is no call is an error.
    sandbox.write("call.json", call.replace("usr-1", "usr-9"));
    let answered = sandbox.json(&["tools", "call", "--format", "anthropic", "call.json"]);
    assert_eq!(answered["messages"][0]["content"][0]["is_error"], true, "{answered}");
    assert_eq!(sandbox.refused(&["tools", "call", "call.json"]).0, "invalid");
    sandbox.write("call.json", "{");
    assert_eq!(sandbox.refused(&["tools", "call", "call.json"]).0, "invalid");
}

/// What stands around the loop of the page: a client in a few lines, and a model that opens what it needs.
const AROUND: &str = r#"
import json, re, sys, urllib.request

url, token = sys.argv[1:3]

def ask(path, body=None):
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}/v1/sessions/default/{path}", data, headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)

def get(path):
    return ask(path)

def post(path, body):
    return ask(path, body)

STEP

def call(name, arguments):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [
        {"id": f"call_{name}", "type": "function", "function": function}]}

def model(request):
    assert len(request["tools"]) == 5, request["tools"]
    last = request["messages"][-1]
    if last["role"] == "user":
        return call("find", {"query": "pelican code"})
    if last["tool_call_id"] == "call_find":
        return call("expand", {"page": re.search(r"usr-\d+", last["content"]).group()})
    code = re.search(r"pelican code is (\d+)", last["content"]).group(1)
    return {"role": "assistant", "content": f"It is {code}."}

post("append", {"messages": [{"role": "user", "content": "Note the code."},
                             {"role": "assistant", "content": "The pelican code is 4711. " * 30}]})
for number in range(40):
    post("append", {"messages": [{"role": "user", "content": f"Count {number}."},
                                 {"role": "assistant", "content": f"{number} " * 200}]})
assert "pelican code is 4711" not in json.dumps(post("window", {"format": "openai", "budget": 4000})["window"])
print(step("What was the code?", model)["content"])
"#;

// The loop of docs/mcp.md works as it is written.
#[test]
fn a_host_offers_its_model_the_tools_in_ten_lines() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/mcp.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, after) = page.split_once("<!-- host: begin -->").unwrap();
    let (block, _) = after.split_once("<!-- host: end -->").unwrap();
    let step = block.trim().trim_start_matches("```python").trim_end_matches("```");
    assert!(step.trim().lines().count() <= 13, "it is shown as short as it is");
    let sandbox = Sandbox::new();
    sandbox.write("host.py", AROUND.replace("STEP", step));
    let program = assert_cmd::cargo::cargo_bin!("contexture");
    let mut command = Command::new(program);
    command.env_clear().env("TMPDIR", sandbox.path()).current_dir(sandbox.path());
    command.args(["serve", "--port", "0", "--json"]);
    let mut server = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let serving: Value = serde_json::from_str(&line).unwrap();
    let token =
        fs::read_to_string(sandbox.path().join(serving["tokenFile"].as_str().unwrap())).unwrap();
    let host = Command::new("python3")
        .current_dir(sandbox.path())
        .args(["host.py", serving["url"].as_str().unwrap(), token.trim()])
        .output();
    let _ = server.kill();
    let _ = server.wait();
    let host = host.unwrap();
    let said = String::from_utf8_lossy(&host.stdout);
    assert_eq!(said.trim(), "It is 4711.", "{}", String::from_utf8_lossy(&host.stderr));
}
