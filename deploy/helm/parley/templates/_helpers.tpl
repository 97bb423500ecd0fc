{{- define "parley.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end }}

{{- define "parley.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "parley.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "parley.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "parley.selector" -}}
app.kubernetes.io/name: {{ include "parley.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: hub
{{- end }}

{{- define "parley.labels" -}}
{{ include "parley.selector" . }}
{{ include "parley.common" . }}
{{- end }}

{{- define "parley.common" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "parley.workerLabels" -}}
app.kubernetes.io/name: {{ include "parley.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: worker
parley/agent: {{ .worker.name }}
{{- end }}

{{- define "parley.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "parley.scheme" -}}
{{- if hasKey .Values.config "tls" }}https{{ else }}http{{ end -}}
{{- end }}

{{- /* parley.yaml: the keys of the chart, and over them those of .Values.config. */ -}}
{{- define "parley.config" -}}
{{- $cluster := eq .Values.mode "cluster" -}}
{{- $own := dict
  "auth" (dict "api_keys" (dict "${PARLEY_ADMIN_KEY}" (dict "agent_id" "admin" "roles" (list "admin") "owner" "local")))
  "telemetry" (dict "metrics" "admin")
  "engine" (dict "drain_timeout" (printf "%ds" (int .Values.drainSeconds)))
  "bus" (dict "url" (ternary "${PARLEY_BUS}" "off" (ne .Values.bus.secret ""))) -}}
{{- if $cluster }}{{ $_ := set $own "hub_id" "${POD_NAME}" }}{{ end -}}
{{- if and .Values.ingress.enabled .Values.ingress.host }}
{{- $_ := set $own "public_url" (printf "%s://%s" (ternary "https" "http" (ne .Values.ingress.tlsSecret "")) .Values.ingress.host) }}
{{- end -}}
{{- $all := mustMergeOverwrite $own (deepCopy .Values.config) -}}
{{- $agents := get $all "agents" | default list -}}
{{- range .Values.workers }}{{ $agents = append $agents (dict "name" .name "queue" .name) }}{{ end -}}
{{- if $agents }}{{ $_ := set $all "agents" $agents }}{{ end -}}
{{- toYaml $all -}}
{{- end }}

{{- /* A variable from a reference to a Secret. */ -}}
{{- define "parley.secretVariable" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef: {name: {{ .from.secret | quote }}, key: {{ .from.key | quote }}}
{{- end }}

{{- define "parley.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "parley.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- /* Conditions on several values. */ -}}
{{- define "parley.check" -}}
{{- if eq .Values.mode "cluster" }}
{{- if not .Values.database.secret }}{{ fail "hubs of mode cluster share a database: set database.secret to a Secret with its address, or mode to single" }}{{ end -}}
{{- if not .Values.masterKey.secret }}{{ fail "hubs of mode cluster share a master key: set masterKey.secret to a Secret with the output of openssl rand -hex 32" }}{{ end -}}
{{- end -}}
{{- if not .Values.adminKey.secret }}{{ fail "a hub that listens on all addresses needs a key: set adminKey.secret to a Secret with the output of openssl rand -hex 24" }}{{ end -}}
{{- if and .Values.workers (not .Values.bus.secret) }}{{ fail "workers need a broker: set bus.secret to a Secret with its address" }}{{ end -}}
{{- if and .Values.keda.enabled .Values.workers }}
{{- if and (eq .Values.bus.kind "nats") (not .Values.keda.nats.monitoring) }}{{ fail "KEDA counts messages at the monitoring endpoint of NATS: set keda.nats.monitoring, such as nats.default.svc:8222" }}{{ end -}}
{{- if and (eq .Values.bus.kind "rabbitmq") (not .Values.keda.rabbitmq.secret) }}{{ fail "KEDA counts messages by the management API of RabbitMQ: set keda.rabbitmq.secret to a Secret with its URL" }}{{ end -}}
{{- end -}}
{{- end }}
