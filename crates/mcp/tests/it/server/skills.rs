//! Skills as prompts and as resources.

use serde_json::{Value, json};

use super::kit::{Client, Room, text};

fn library() -> Room {
    Room::new()
        .skill("tides", "Reads tide tables.", "Look at tables/today.csv.")
        .file("skills/tides/tables/today.csv", "06:00,high\n12:00,low\n")
        .file("skills/tides/notes.md", "Rüsselsheim, 潮汐\n")
        .file(
            "skills/greet/SKILL.md",
            "---\nname: greet\ndescription: Greets a ship.\nparameters:\n  - name: ship\n    type: string\n    required: true\n    description: Its name.\n  - name: guns\n    type: integer\n    default: 1\n---\nGreet the ship.\n",
        )
        .file(
            "skills/quiet/SKILL.md",
            "---\nname: quiet\ndescription: For people only.\ndisable-model-invocation: true\n---\nOnly a person opens this.\n",
        )
        .file(
            "skills/inner/SKILL.md",
            "---\nname: inner\ndescription: For the model only.\nuser-invocable: false\n---\nNot for people.\n",
        )
}

fn names(list: &Value, of: &str, key: &str) -> Vec<String> {
    let all = list[of].as_array().unwrap().iter();
    all.map(|one| one[key].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skill_is_a_prompt_for_the_person_who_may_open_it() {
    let client = library().client().await;
    let list = client.result("prompts/list", json!({})).await;
    assert_eq!(names(&list, "prompts", "name"), ["greet", "quiet", "tides"]);
    let arguments = &list["prompts"][0]["arguments"];
    assert_eq!(arguments[0], json!({"name": "ship", "description": "Its name.", "required": true}));
    let given = json!({"name": "greet", "arguments": {"ship": "Aurora", "guns": "21"}});
    let prompt = client.result("prompts/get", given).await;
    let said = prompt["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(said.contains("{\"guns\":21,\"ship\":\"Aurora\"}"), "{said}");
    assert_eq!(prompt["messages"][0]["role"], "user");
    let said = client.result("prompts/get", json!({"name": "quiet"})).await;
    assert!(said.to_string().contains("Only a person opens this."), "{said}");
    for (name, arguments) in [("inner", json!({})), ("nobody", json!({})), ("greet", json!({}))] {
        let params = json!({"name": name, "arguments": arguments});
        let (code, words) = client.error("prompts/get", params).await;
        assert_eq!(code, -32602, "{name}: {words}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn skills_are_served_with_the_digest_of_every_file_and_byte_for_byte() {
    let room = library();
    let client = room.client().await;
    let list = client.result("skills/list", json!({})).await;
    let found: Vec<&str> = list["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| skill["frontmatter"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(found, ["greet", "inner", "tides"], "what the model may see: {list}");
    let tides = &list["skills"][2];
    assert_eq!(tides["uri"], "skill://tides/SKILL.md");
    let files = tides["resources"].as_array().unwrap();
    assert_eq!(files.len(), 3, "{tides}");
    for file in files {
        let uri = file["uri"].as_str().unwrap();
        let read = client.result("resources/read", json!({"uri": uri})).await;
        let bytes = read["contents"][0]["text"].as_str().unwrap().as_bytes();
        let path = uri.strip_prefix("skill://").unwrap();
        assert_eq!(bytes, std::fs::read(room.path(&format!("skills/{path}"))).unwrap());
        assert_eq!(file["size"], bytes.len());
        assert_eq!(file["digest"], concertina_types::Digest::of(bytes).to_string());
    }
    let one = client.result("skills/get", json!({"uri": "skill://tides/SKILL.md"})).await;
    assert_eq!(&one["skill"], tides);
    let directory =
        client.result("resources/directory/read", json!({"uri": "skill://tides"})).await;
    assert_eq!(names(&directory, "resources", "name"), ["SKILL.md", "notes.md", "tables"]);
    assert_eq!(directory["resources"][2]["mimeType"], "inode/directory");
    let below =
        client.result("resources/directory/read", json!({"uri": "skill://tides/tables"})).await;
    assert_eq!(names(&below, "resources", "uri"), ["skill://tides/tables/today.csv"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn advisory_37_a_resource_never_leads_out_of_its_skill_or_past_the_policy() {
    let room = library()
        .file("secret.txt", "the harbour master's safe")
        .file("skills/tides-evil/plan.txt", "the harbour master's safe");
    std::os::unix::fs::symlink(room.path("secret.txt"), room.path("skills/tides/link.txt"))
        .unwrap();
    let client = room.client().await;
    for uri in [
        "skill://quiet/SKILL.md",
        "skill://tides/../../secret.txt",
        "skill://tides/%2e%2e/%2e%2e/secret.txt",
        "skill://tides/..%2f..%2fsecret.txt",
        "skill://tides/../tides-evil/plan.txt",
        "skill://tides-evil/plan.txt",
        "skill://tides/link.txt",
        "skill://tides//etc/passwd",
        "skill://nobody/SKILL.md",
        "file:///etc/passwd",
    ] {
        let answer = client.ask("resources/read", json!({"uri": uri})).await;
        assert!(answer.get("error").is_some(), "{uri}: {answer}");
        assert!(!answer.to_string().contains("the harbour master's safe"), "{uri}");
    }
    let listed = client.result("skills/list", json!({})).await.to_string();
    assert!(!listed.contains("link.txt") && !listed.contains("quiet"), "{listed}");
    for uri in ["skill://quiet/SKILL.md", "skill://tides", "note://one"] {
        let (code, _) = client.error("skills/get", json!({"uri": uri})).await;
        assert_eq!(code, -32602, "{uri}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn gateway_25_long_lists_come_in_pages_whose_cursors_are_checked() {
    let mut room = Room::new();
    for number in 0..230 {
        room = room.skill(&format!("skill-{number:03}"), &format!("Number {number}."), "Do it.");
    }
    let client = Client::of(&room.open().await).await;
    for (method, of) in
        [("prompts/list", "prompts"), ("resources/list", "resources"), ("skills/list", "skills")]
    {
        let mut seen = 0;
        let mut cursor: Option<String> = None;
        for _ in 0..3 {
            let params = cursor.map_or(json!({}), |cursor| json!({"cursor": cursor}));
            let list = client.result(method, params).await;
            seen += list[of].as_array().unwrap().len();
            cursor = list["nextCursor"].as_str().map(str::to_owned);
        }
        assert_eq!((seen, cursor), (230, None), "{method}");
        for wrong in ["", "abc", "0", "deadbeef.100"] {
            let (code, _) = client.error(method, json!({"cursor": wrong})).await;
            assert_eq!(code, -32602, "{method} {wrong}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_read_as_a_resource_is_on_the_record() {
    let room = library();
    let client = room.client().await;
    client.result("resources/read", json!({"uri": "skill://tides/SKILL.md"})).await;
    let session = room.store().events.sessions().unwrap().remove(0).session;
    let events = room.store().verify(&session).unwrap();
    let facts = events.iter().map(|event| serde_json::to_string(&event.fact).unwrap());
    assert!(facts.into_iter().any(|fact| fact.contains("skill:tides#full")), "{events:?}");
    let opened = client.text("open", json!({"ref": "skill:tides#notes.md"})).await;
    assert!(opened.contains("潮汐"), "{opened}");
    let _ = text(&client.tool("find", json!({"query": "tides"})).await);
}
