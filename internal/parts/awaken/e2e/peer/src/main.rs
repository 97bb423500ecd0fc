//! Awaken 0.6.0 with agents of a JSON file and a model that follows orders instead of thinking.
//!
//! usage: awaken-peer SPECS
//!
//! SPECS is a JSON array of Awaken's own AgentSpec. The model of each local agent is
//! `scripted`. The program prints its address and serves until it is killed.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use awaken::contract::executor::{InferenceExecutionError, InferenceRequest, LlmExecutor};
use awaken::contract::inference::{StopReason, StreamResult, TokenUsage};
use awaken::contract::message::{Message, Role, ToolCall};
use awaken::prelude::ContentBlock;
use awaken::registry_spec::{AgentSpec, ModelSpec};
use awaken::stores::memory::InMemoryStore;
use awaken::stores::{InMemoryMailboxStore, MemoryCommitCoordinator};
use awaken::AgentRuntimeBuilder;
use awaken_server::app::{ServerConfig, ServerState};
use awaken_server::mailbox::{Mailbox, MailboxConfig};
use awaken_server::routes::build_router;

/// Scripted does what the first word of the last message says:
/// `delegate AGENT PROMPT` calls the tool of an agent, `slow MS TEXT` waits before it
/// answers, `fail` fails, and any other text is its own answer.
struct Scripted;

#[async_trait]
impl LlmExecutor for Scripted {
    async fn execute(&self, request: InferenceRequest) -> Result<StreamResult, InferenceExecutionError> {
        let Some(last) = request.messages.iter().rev().find(|m| matches!(m.role, Role::User | Role::Tool)) else {
            return Ok(says("nothing was said"));
        };
        let text = text_of(last);
        if last.role == Role::Tool {
            return Ok(says(&format!("the tool answered: {text}")));
        }
        let words: Vec<&str> = text.splitn(3, ' ').collect();
        match words[..] {
            ["delegate", agent, prompt] => Ok(calls(agent, prompt)),
            ["slow", millis, answer] => {
                tokio::time::sleep(Duration::from_millis(millis.parse().unwrap_or(0))).await;
                Ok(says(answer))
            }
            ["fail", ..] => Err(InferenceExecutionError::Provider("the script says so".into())),
            _ => Ok(says(&format!("awaken says: {text}"))),
        }
    }

    fn name(&self) -> &str {
        "scripted"
    }
}

fn text_of(message: &Message) -> String {
    let blocks = message.content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        _ => None,
    });
    blocks.collect::<Vec<_>>().join(" ")
}

fn says(text: &str) -> StreamResult {
    result(vec![ContentBlock::text(text)], vec![], StopReason::EndTurn)
}

fn calls(agent: &str, prompt: &str) -> StreamResult {
    let call = ToolCall::new("call-1", format!("agent_run_{agent}"), serde_json::json!({ "prompt": prompt }));
    result(vec![], vec![call], StopReason::ToolUse)
}

fn result(content: Vec<ContentBlock>, tool_calls: Vec<ToolCall>, stop: StopReason) -> StreamResult {
    StreamResult {
        content,
        tool_calls,
        usage: Some(TokenUsage::default()),
        stop_reason: Some(stop),
        has_incomplete_tool_calls: false,
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: awaken-peer SPECS")?;
    let specs: Vec<AgentSpec> = serde_json::from_str(&std::fs::read_to_string(path)?)?;

    let store = Arc::new(InMemoryStore::new());
    let runtime = Arc::new(
        AgentRuntimeBuilder::new()
            .with_provider("script", Arc::new(Scripted))
            .with_model(ModelSpec::new("scripted", "script", "scripted"))
            .with_agent_specs(specs)
            .with_commit_coordinator(MemoryCommitCoordinator::wrap(store.clone()))
            .build_unchecked()?,
    );
    let mailbox = Arc::new(Mailbox::new(
        runtime.clone(),
        Arc::new(InMemoryMailboxStore::new()),
        store.clone(),
        "peer".to_string(),
        MailboxConfig::default(),
    ));
    let resolver = runtime.resolver_arc();
    let state = ServerState::new(runtime, mailbox, store, resolver, ServerConfig::default());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, build_router(&state)).await?;
    Ok(())
}
