package peer;

import io.a2a.server.PublicAgentCard;
import io.a2a.server.agentexecution.AgentExecutor;
import io.a2a.server.agentexecution.RequestContext;
import io.a2a.server.events.EventQueue;
import io.a2a.server.tasks.TaskUpdater;
import io.a2a.spec.AgentCapabilities;
import io.a2a.spec.AgentCard;
import io.a2a.spec.TextPart;
import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.QuarkusApplication;
import io.quarkus.runtime.annotations.QuarkusMain;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.inject.Produces;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.eclipse.microprofile.config.ConfigProvider;

/**
 * The agent of the bench on the reference server of the official Java SDK, with its stores in
 * memory. It follows the line protocol of package serve: the first line that it prints has its
 * address, a line of input gets one of output, and it ends with its input.
 */
@QuarkusMain
public class Server implements QuarkusApplication {
    private static final String CHUNK = "sixty-four bytes of text are about what a model says in a second";

    @Override
    public int run(String... args) throws Exception {
        int port = ConfigProvider.getConfig().getValue("quarkus.http.port", Integer.class);
        System.out.println("{\"addr\":\"127.0.0.1:" + port + "\"}");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(line.equals("stats") ? "{}" : "{\"error\":\"no such command\"}");
        }
        return 0;
    }

    public static void main(String... args) {
        Quarkus.run(Server.class, args);
    }

    /** Makes the parts that the SDK's server injects. */
    @ApplicationScoped
    public static class Parts {
        @Produces
        @PublicAgentCard
        public AgentCard card() {
            return new AgentCard.Builder()
                .name("bench").description("Answers a load generator.").version("1").protocolVersion("0.3.0")
                .url("http://127.0.0.1/")
                .capabilities(new AgentCapabilities.Builder().streaming(true).build())
                .defaultInputModes(List.of("text/plain")).defaultOutputModes(List.of("text/plain"))
                .skills(List.of())
                .build();
        }

        @Produces
        public AgentExecutor agent() {
            return new Agent();
        }
    }

    private static final class Agent implements AgentExecutor {
        @Override
        public void execute(RequestContext context, EventQueue queue) {
            TaskUpdater task = new TaskUpdater(context, queue);
            if (context.getTask() == null) {
                task.submit();
            }
            task.startWork();
            String text = ((TextPart) context.getMessage().getParts().get(0)).getText();
            int space = text.indexOf(' ');
            String rest = text.substring(space + 1);
            if (text.startsWith("say ")) {
                task.addArtifact(List.of(new TextPart(rest)), "answer", null, null, false, true);
            } else {
                int n = Integer.parseInt(rest);
                for (int i = 0; i < n; i++) {
                    task.addArtifact(List.of(new TextPart(CHUNK)), "answer", null, null, i > 0, i == n - 1);
                }
            }
            task.complete();
        }

        @Override
        public void cancel(RequestContext context, EventQueue queue) {
            new TaskUpdater(context, queue).cancel();
        }
    }
}
