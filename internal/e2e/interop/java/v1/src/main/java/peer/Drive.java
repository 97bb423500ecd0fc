package peer;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageOrBuilder;
import com.google.protobuf.util.JsonFormat;
import io.a2a.client.http.A2ACardResolver;
import io.a2a.client.http.JdkA2AHttpClient;
import io.a2a.client.transport.jsonrpc.JSONRPCTransport;
import io.a2a.client.transport.rest.RestTransport;
import io.a2a.client.transport.spi.ClientTransport;
import io.a2a.client.transport.spi.interceptors.ClientCallContext;
import io.a2a.grpc.CancelTaskRequest;
import io.a2a.grpc.GetTaskRequest;
import io.a2a.grpc.ListTasksRequest;
import io.a2a.grpc.SendMessageRequest;
import io.a2a.grpc.StreamResponse;
import io.a2a.grpc.SubscribeToTaskRequest;
import io.a2a.grpc.utils.ProtoUtils;
import io.a2a.spec.A2AError;
import io.a2a.spec.AgentCard;
import io.a2a.spec.AgentInterface;
import io.a2a.spec.Message;
import io.a2a.spec.StreamingEventKind;
import io.a2a.spec.Task;
import io.a2a.spec.TaskState;
import io.a2a.spec.TaskStatusUpdateEvent;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/**
 * Takes steps from standard input, with the official Java SDK 1.0.0.Alpha3 as the client,
 * and prints what it sees. See the package comment of internal/e2e/interop for the lines.
 *
 * <pre>java -cp 'target/classes:target/lib/*' peer.Drive &lt;hub's URL&gt; &lt;JSONRPC | HTTP+JSON&gt;</pre>
 *
 * The SDK follows a draft of v1.0: it names no version, has its caller say blocking in
 * place of returnImmediately, and has other webhooks and another proto for gRPC.
 */
public final class Drive {
    private final String hub;
    private final String binding;
    private final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    private final Map<String, ClientTransport> agents = new HashMap<>();

    private Drive(String hub, String binding) {
        this.hub = hub;
        this.binding = binding;
    }

    public static void main(String[] args) throws Exception {
        Drive drive = new Drive(args[0], args[1]);
        ExecutorService threads = Executors.newCachedThreadPool();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonObject step = JsonParser.parseString(line).getAsJsonObject();
            // The SDK has no way to leave a stream; what comes later is nobody's.
            if (!"stop".equals(step.get("op").getAsString())) {
                threads.execute(() -> drive.take(step));
            }
        }
        System.exit(0); // the SDK keeps threads
    }

    private void take(JsonObject step) {
        JsonObject line = new JsonObject();
        line.add("id", step.get("id"));
        try {
            String op = step.get("op").getAsString();
            if (op.equals("stream") || op.equals("subscribe")) {
                stream(step, op);
                line.addProperty("end", true);
            } else {
                line.add("result", json(call(step, op)));
            }
        } catch (Throwable e) {
            line.add("error", error(e));
        }
        print(line);
    }

    private void print(JsonObject line) {
        synchronized (out) {
            out.println(line);
        }
    }

    private static JsonObject json(MessageOrBuilder m) throws InvalidProtocolBufferException {
        return JsonParser.parseString(JsonFormat.printer().print(m)).getAsJsonObject();
    }

    /** The code of an error is in one of its causes. */
    private static JsonObject error(Throwable e) {
        JsonObject error = new JsonObject();
        for (Throwable cause = e; cause != null; cause = cause.getCause()) {
            if (cause instanceof A2AError a2a && a2a.getCode() != null) {
                error.addProperty("code", a2a.getCode());
                break;
            }
        }
        error.addProperty("message", e.toString());
        return error;
    }

    private static <T extends com.google.protobuf.Message.Builder> T params(JsonObject step, T to)
            throws InvalidProtocolBufferException {
        JsonObject params = step.getAsJsonObject("params");
        JsonObject configuration = params.getAsJsonObject("configuration");
        if (configuration != null && configuration.remove("returnImmediately") instanceof JsonPrimitive now) {
            configuration.addProperty("blocking", !now.getAsBoolean());
        }
        JsonFormat.parser().merge(params.toString(), to);
        return to;
    }

    /** The version is a header like any other to the SDK. */
    private static ClientCallContext context(JsonObject step) {
        String version = step.has("version") ? step.get("version").getAsString() : "1.0";
        return new ClientCallContext(Map.of(), Map.of("A2A-Version", version));
    }

    private MessageOrBuilder call(JsonObject step, String op) throws Exception {
        if (op.equals("read")) {
            StreamResponse.Builder read = params(step, StreamResponse.newBuilder());
            return ProtoUtils.ToProto.streamResponse(ProtoUtils.FromProto.streamingEventKind(read));
        }
        ClientTransport c = agent(step.get("agent").getAsString());
        ClientCallContext context = context(step);
        switch (op) {
            case "send":
                return ProtoUtils.ToProto.taskOrMessage(c.sendMessage(
                        ProtoUtils.FromProto.messageSendParams(params(step, SendMessageRequest.newBuilder())), context));
            case "get":
                return ProtoUtils.ToProto.task(c.getTask(
                        ProtoUtils.FromProto.taskQueryParams(params(step, GetTaskRequest.newBuilder())), context));
            case "list":
                return ProtoUtils.ToProto.listTasksResult(c.listTasks(
                        ProtoUtils.FromProto.listTasksParams(params(step, ListTasksRequest.newBuilder())), context));
            case "cancel":
                return ProtoUtils.ToProto.task(c.cancelTask(
                        ProtoUtils.FromProto.taskIdParams(params(step, CancelTaskRequest.newBuilder())), context));
            default:
                throw new IllegalArgumentException("there is no operation " + op);
        }
    }

    /** Takes a stream to its end, which the SDK tells by an error that is none, if at all. */
    private void stream(JsonObject step, String op) throws Throwable {
        CountDownLatch ended = new CountDownLatch(1);
        AtomicReference<Throwable> failed = new AtomicReference<>();
        Consumer<StreamingEventKind> events = event -> {
            JsonObject line = new JsonObject();
            line.add("id", step.get("id"));
            try {
                line.add("event", json(ProtoUtils.ToProto.streamResponse(event)));
            } catch (InvalidProtocolBufferException e) {
                throw new IllegalStateException(e);
            }
            print(line);
            if (last(event, op)) {
                ended.countDown(); // the SDK breaks off, and may tell an error or nothing
            }
        };
        Consumer<Throwable> end = e -> {
            if (ended.getCount() > 0) {
                failed.set(e);
            }
            ended.countDown();
        };
        ClientTransport c = agent(step.get("agent").getAsString());
        if (op.equals("subscribe")) {
            c.subscribeToTask(ProtoUtils.FromProto.taskIdParams(params(step, SubscribeToTaskRequest.newBuilder())), events, end, context(step));
        } else {
            c.sendMessageStreaming(ProtoUtils.FromProto.messageSendParams(params(step, SendMessageRequest.newBuilder())), events, end, context(step));
        }
        ended.await();
        if (failed.get() != null) {
            throw failed.get();
        }
    }

    /** A question is the end of a sent message's stream, which HTTP+JSON does not tell. */
    private static boolean last(StreamingEventKind event, String op) {
        if (event instanceof TaskStatusUpdateEvent status) {
            TaskState state = status.status().state();
            boolean question = state == TaskState.TASK_STATE_INPUT_REQUIRED || state == TaskState.TASK_STATE_AUTH_REQUIRED;
            return state.isFinal() || question && op.equals("stream");
        }
        return event instanceof Message || event instanceof Task task && task.status().state().isFinal();
    }

    private ClientTransport agent(String name) throws Exception {
        synchronized (agents) {
            if (!agents.containsKey(name)) {
                agents.put(name, connect(name));
            }
            return agents.get(name);
        }
    }

    /** Connects to an agent by its card, at the address that it names for the binding. */
    private ClientTransport connect(String name) throws Exception {
        JdkA2AHttpClient http = new JdkA2AHttpClient();
        AgentCard card = new A2ACardResolver(http, hub, null, "/a2a/" + name + "/.well-known/agent-card.json").getAgentCard();
        for (AgentInterface i : card.supportedInterfaces()) {
            if (i.protocolBinding().equals(binding)) {
                return binding.equals("JSONRPC")
                        ? new JSONRPCTransport(http, card, i, null) : new RestTransport(http, card, i, null);
            }
        }
        throw new IllegalArgumentException("the card has no " + binding + ": " + card.supportedInterfaces());
    }
}
