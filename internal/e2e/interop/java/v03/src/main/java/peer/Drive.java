package peer;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.a2a.client.http.A2ACardResolver;
import io.a2a.client.http.JdkA2AHttpClient;
import io.a2a.client.transport.grpc.GrpcTransport;
import io.a2a.client.transport.jsonrpc.JSONRPCTransport;
import io.a2a.client.transport.rest.RestTransport;
import io.a2a.client.transport.spi.ClientTransport;
import io.a2a.spec.AgentCard;
import io.a2a.spec.AgentInterface;
import io.a2a.spec.DeleteTaskPushNotificationConfigParams;
import io.a2a.spec.GetTaskPushNotificationConfigParams;
import io.a2a.spec.JSONRPCError;
import io.a2a.spec.ListTaskPushNotificationConfigParams;
import io.a2a.spec.Message;
import io.a2a.spec.MessageSendParams;
import io.a2a.spec.StreamingEventKind;
import io.a2a.spec.Task;
import io.a2a.spec.TaskIdParams;
import io.a2a.spec.TaskPushNotificationConfig;
import io.a2a.spec.TaskQueryParams;
import io.a2a.spec.TaskStatusUpdateEvent;
import io.a2a.util.Utils;
import io.grpc.ManagedChannelBuilder;
import io.grpc.StatusRuntimeException;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Takes steps from standard input, with the official Java SDK of v0.3 as the client, and
 * prints what it sees. See the package comment of internal/e2e/interop for the lines.
 *
 * <pre>java -cp 'target/classes:target/lib/*' peer.Drive &lt;hub's URL&gt; &lt;JSONRPC | HTTP+JSON | GRPC&gt;</pre>
 */
public final class Drive {
    private final String hub;
    private final String binding;
    private final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    private final Map<String, ClientTransport> agents = new ConcurrentHashMap<>();

    private Drive(String hub, String binding) {
        this.hub = hub;
        this.binding = binding;
    }

    public static void main(String[] args) throws Exception {
        Drive drive = new Drive(args[0], args[1]);
        ExecutorService threads = Executors.newCachedThreadPool();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode step = Utils.OBJECT_MAPPER.readTree(line);
            // The SDK has no way to leave a stream; what comes later is nobody's.
            if (!"stop".equals(step.get("op").asText())) {
                threads.execute(() -> drive.take(step));
            }
        }
        System.exit(0); // the SDK keeps threads
    }

    private void take(JsonNode step) {
        ObjectNode line = Utils.OBJECT_MAPPER.createObjectNode();
        line.set("id", step.get("id"));
        try {
            String op = step.get("op").asText();
            if (op.equals("stream") || op.equals("subscribe")) {
                stream(step, op);
                line.put("end", true);
            } else {
                line.set("result", Utils.OBJECT_MAPPER.valueToTree(call(step, op)));
            }
        } catch (Throwable e) {
            line.set("error", error(e));
        }
        print(line);
    }

    private void print(ObjectNode line) {
        synchronized (out) {
            out.println(line);
        }
    }

    private static final Pattern STATUS = Pattern.compile("failed with status (\\d+)");

    /** The code of an error is in one of its causes, or there is only a status. */
    private static ObjectNode error(Throwable e) {
        ObjectNode error = Utils.OBJECT_MAPPER.createObjectNode();
        for (Throwable cause = e; cause != null; cause = cause.getCause()) {
            if (cause instanceof JSONRPCError rpc && rpc.getCode() != null) {
                error.put("code", rpc.getCode());
                break;
            }
            if (cause instanceof StatusRuntimeException grpc) {
                error.put("status", grpc.getStatus().getCode().name());
            }
        }
        Matcher status = STATUS.matcher(String.valueOf(e.getMessage()));
        if (status.find()) {
            error.put("status", status.group(1));
        }
        return error.put("message", e.toString());
    }

    private <T> T params(JsonNode step, Class<T> type) throws JsonProcessingException {
        return Utils.OBJECT_MAPPER.treeToValue(step.get("params"), type);
    }

    private Object call(JsonNode step, String op) throws Exception {
        if (op.equals("read")) {
            return params(step, StreamingEventKind.class);
        }
        ClientTransport c = agent(step.get("agent").asText());
        switch (op) {
            case "send":
                return c.sendMessage(params(step, MessageSendParams.class), null);
            case "get":
                return c.getTask(params(step, TaskQueryParams.class), null);
            case "cancel":
                return c.cancelTask(params(step, TaskIdParams.class), null);
            case "createPush":
                return c.setTaskPushNotificationConfiguration(params(step, TaskPushNotificationConfig.class), null);
            case "getPush":
                return c.getTaskPushNotificationConfiguration(params(step, GetTaskPushNotificationConfigParams.class), null);
            case "listPush":
                return c.listTaskPushNotificationConfigurations(params(step, ListTaskPushNotificationConfigParams.class), null);
            case "deletePush":
                c.deleteTaskPushNotificationConfigurations(params(step, DeleteTaskPushNotificationConfigParams.class), null);
                return Map.of();
            default:
                throw new IllegalArgumentException("the SDK has no operation " + op);
        }
    }

    /** Takes a stream to its end, which the SDK tells by an error that is none. */
    private void stream(JsonNode step, String op) throws Throwable {
        CountDownLatch ended = new CountDownLatch(1);
        AtomicReference<Throwable> failed = new AtomicReference<>();
        Consumer<StreamingEventKind> events = event -> {
            ObjectNode line = Utils.OBJECT_MAPPER.createObjectNode();
            line.set("id", step.get("id"));
            line.set("event", Utils.OBJECT_MAPPER.valueToTree(event));
            print(line);
            if (last(event)) {
                ended.countDown(); // the SDK breaks off, and may tell an error or nothing
            }
        };
        Consumer<Throwable> end = e -> {
            if (ended.getCount() > 0) {
                failed.set(e);
            }
            ended.countDown();
        };
        ClientTransport c = agent(step.get("agent").asText());
        if (op.equals("subscribe")) {
            c.resubscribe(params(step, TaskIdParams.class), events, end, null);
        } else {
            c.sendMessageStreaming(params(step, MessageSendParams.class), events, end, null);
        }
        ended.await();
        if (failed.get() != null) {
            throw failed.get();
        }
    }

    private static boolean last(StreamingEventKind event) {
        return event instanceof Message
                || event instanceof TaskStatusUpdateEvent status && status.isFinal()
                || event instanceof Task task && task.getStatus().state().isFinal();
    }

    private ClientTransport agent(String name) throws Exception {
        synchronized (agents) {
            if (!agents.containsKey(name)) {
                agents.put(name, connect(name));
            }
            return agents.get(name);
        }
    }

    /**
     * Connects to an agent by its card, at the address that it names for the binding. Over
     * gRPC the hub has one address for all agents, and its own card names it.
     */
    private ClientTransport connect(String name) throws Exception {
        JdkA2AHttpClient http = new JdkA2AHttpClient();
        String below = binding.equals("GRPC") ? "" : "/a2a/" + name;
        AgentCard card = new A2ACardResolver(http, hub, below + "/.well-known/agent.json").getAgentCard();
        String url = address(card);
        return switch (binding) {
            case "JSONRPC" -> new JSONRPCTransport(http, card, url, null);
            case "HTTP+JSON" -> new RestTransport(http, card, url, null);
            default -> new GrpcTransport(ManagedChannelBuilder.forTarget(url).usePlaintext().build(), card);
        };
    }

    private String address(AgentCard card) {
        List<AgentInterface> all = new ArrayList<>(List.of(new AgentInterface(card.preferredTransport(), card.url())));
        if (card.additionalInterfaces() != null) {
            all.addAll(card.additionalInterfaces());
        }
        for (AgentInterface i : all) {
            if (i.transport().equals(binding)) {
                return i.url();
            }
        }
        throw new IllegalArgumentException("the card has no " + binding + ": " + all);
    }
}
