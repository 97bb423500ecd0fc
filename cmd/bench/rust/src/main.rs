//! The agent of the bench on a2a-rs, with its stores in memory. It follows the line protocol of
//! package serve: the first line that it prints has its address, a line of input gets one of
//! output, and it ends with its input.
//!
//! The library's store has no way to add an artifact, so the agent adds it to the task that it
//! returns.

use std::io::BufRead;
use std::sync::Arc;

use a2a_rs::adapter::{InMemoryTaskStorage, JsonRpcAdapter, SimpleAgentInfo, jsonrpc_router};
use a2a_rs::domain::{A2AError, Artifact, ContextId, Message, Part, Task, TaskId, TaskState};
use a2a_rs::port::{AsyncMessageHandler, AsyncTaskLifecycle};
use async_trait::async_trait;

struct Agent(InMemoryTaskStorage);

#[async_trait]
impl AsyncMessageHandler for Agent {
    async fn process_message(&self, task_id: &str, message: &Message, session_id: Option<&str>) -> Result<Task, A2AError> {
        let id: TaskId = task_id.parse()?;
        let fresh = uuid::Uuid::new_v4().to_string();
        let context: ContextId = session_id.unwrap_or(&fresh).parse()?;
        self.0.create(&id, &context).await?;
        self.0.update_status(&id, TaskState::Working, Some(message.clone())).await?;
        let text = message.parts.iter().find_map(|p| p.get_text()).unwrap_or_default();
        let rest = text.split_once(' ').map_or("", |(_, rest)| rest);
        let mut task = self.0.update_status(&id, TaskState::Completed, None).await?;
        task.artifacts.push(Artifact {
            artifact_id: "answer".to_string(),
            parts: vec![Part::text(rest.to_string())],
            ..Default::default()
        });
        Ok(task)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let store = InMemoryTaskStorage::new();
    let info = SimpleAgentInfo::new("bench".to_string(), format!("http://{address}/"));
    let adapter = Arc::new(JsonRpcAdapter::new(Agent(store.clone()), store.clone(), store, info));
    println!("{{\"addr\":\"{address}\"}}");
    std::thread::spawn(|| {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            println!("{}", if line == "stats" { "{}" } else { "{\"error\":\"no such command\"}" });
        }
        std::process::exit(0);
    });
    axum::serve(listener, jsonrpc_router(adapter)).await?;
    Ok(())
}
