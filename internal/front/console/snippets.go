package console

import (
	"encoding/json"
	"strconv"
)

// programs returns programs in Python and Go that send a message. They need only the standard
// library; the key comes from the environment.
func programs(base, agent, message string, keyed bool) []snippet {
	address := base + "/v1/a2a/" + segment(agent) + "/message:send"
	python := "import json, os, urllib.request\n\n" +
		"request = urllib.request.Request(" + literal(address) + ", data=" + literal(message) + ".encode(), method=\"POST\")\n" +
		"request.add_header(\"A2A-Version\", \"1.0\")\nrequest.add_header(\"Content-Type\", \"application/json\")\n"
	code := "package main\n\nimport (\n\t\"io\"\n\t\"log\"\n\t\"net/http\"\n\t\"os\"\n\t\"strings\"\n)\n\nfunc main() {\n" +
		"\trequest, err := http.NewRequest(\"POST\", " + strconv.Quote(address) + ", strings.NewReader(" + strconv.Quote(message) + "))\n" +
		"\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n" +
		"\trequest.Header.Set(\"A2A-Version\", \"1.0\")\n\trequest.Header.Set(\"Content-Type\", \"application/json\")\n"
	if keyed {
		python += "request.add_header(\"Authorization\", \"Bearer \" + os.environ[\"PARLEY_KEY\"])\n"
		code += "\trequest.Header.Set(\"Authorization\", \"Bearer \"+os.Getenv(\"PARLEY_KEY\"))\n"
	}
	python += "with urllib.request.urlopen(request) as answer:\n    print(json.dumps(json.load(answer), indent=2))\n"
	code += "\tanswer, err := http.DefaultClient.Do(request)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\tdefer answer.Body.Close()\n" +
		"\tif _, err := io.Copy(os.Stdout, answer.Body); err != nil {\n\t\tlog.Fatal(err)\n\t}\n}\n"
	return []snippet{{"Python", python}, {"Go", code}}
}

// literal returns a text as a string of Python, which reads the strings of JSON.
func literal(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""` // not reached: every text can be encoded
	}
	return string(b)
}
