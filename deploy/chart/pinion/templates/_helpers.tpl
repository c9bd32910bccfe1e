{{- define "pinion.labels" -}}
app.kubernetes.io/part-of: pinion
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "pinion.image" -}}
{{ .root.Values.image.registry }}/{{ .name }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{- define "pinion.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The agent's configuration, which the extender reads, too: how agents place. */ -}}
{{- define "pinion.agentConfig" -}}
{{- $config := dict "stateDir" "/run/pinion" "metricsListen" "0.0.0.0:9464" "probeListen" "0.0.0.0:9466" }}
{{- if .Values.extender.enabled }}
{{- /* Mutual TLS: only who has a certificate of the same authority is told of the node. */}}
{{- $_ := merge $config (dict "apiListen" "0.0.0.0:9465" "apiCert" "/etc/pinion-tls/tls.crt" "apiKey" "/etc/pinion-tls/tls.key" "apiClientCA" "/etc/pinion-tls/ca.crt") }}
{{- end }}
{{- $config = mustMergeOverwrite $config .Values.agent.config }}
{{- toYaml $config }}
{{- end }}

{{- /* With certificates.mode=self-signed the extender's. */ -}}
{{- define "pinion.keptSecrets" -}}
[pinion-ca, pinion-extender-tls, pinion-agent-tls, pinion-scheduler-tls]
{{- end }}

{{- /* Another authority in place of one that runs is the operator's choice: cert-manager may have come since. The Secrets that
       it makes have no label of ours. */ -}}
{{- define "pinion.certificates" -}}
{{- $ours := false }}
{{- range include "pinion.keptSecrets" . | fromYamlArray }}
{{- $secret := lookup "v1" "Secret" $.Release.Namespace . | default dict }}
{{- if eq "pinion" (dig "metadata" "labels" "app.kubernetes.io/part-of" "" $secret) }}{{ $ours = true }}{{ end }}
{{- end }}
{{- if ne .Values.certificates.mode "auto" -}}{{ .Values.certificates.mode }}
{{- else if $ours -}}self-signed
{{- else if .Capabilities.APIVersions.Has "cert-manager.io/v1" -}}cert-manager
{{- else -}}self-signed
{{- end -}}
{{- end }}

{{- /* Whether an object that extenders write into may be the release's: one that they have made before is not, and Helm would
       refuse to take it over. */ -}}
{{- define "pinion.mayOwn" -}}
{{- $there := lookup .api .kind .root.Release.Namespace .name | default dict }}
{{- if or (not $there) (eq .root.Release.Name (dig "metadata" "annotations" "meta.helm.sh/release-name" "" $there)) }}yes{{ end }}
{{- end }}

{{- /* What the scheduler calls, and what the extender's certificate carries. */ -}}
{{- define "pinion.extenderName" -}}pinion-extender.{{ .Release.Namespace }}.svc{{- end }}
{{- define "pinion.extenderHost" -}}
{{ .Values.extender.service.clusterIP | default (include "pinion.extenderName" .) }}
{{- end }}
{{- define "pinion.second" -}}{{ and .Values.extender.enabled (eq .Values.scheduler.mode "second") | ternary "yes" "" }}{{- end }}

{{- /* kube-scheduler's configuration; folder: where its certificate is. */ -}}
{{- define "pinion.schedulerConfig" -}}
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
{{- if include "pinion.second" .root }}
leaderElection:
  leaderElect: {{ gt (int .root.Values.scheduler.replicas) 1 }}
  resourceName: {{ .root.Values.scheduler.name }}
  resourceNamespace: {{ .root.Release.Namespace }}
percentageOfNodesToScore: 100   # else beyond 100 nodes most planned ones are not offered at first
profiles:
  - schedulerName: {{ .root.Values.scheduler.name }}
{{- else }}
clientConnection: {kubeconfig: /etc/kubernetes/scheduler.conf}
{{- end }}
extenders:
  - urlPrefix: https://{{ include "pinion.extenderHost" .root }}:10270
    filterVerb: filter
    prioritizeVerb: prioritize
    bindVerb: bind
    preemptVerb: preempt
    weight: 10
    nodeCacheCapable: true   # names instead of whole node objects
    httpTimeout: 30s         # above the extender's holdTime: a bind waits for its gang
    ignorable: false         # what needs cores waits for the extender
    {{- if not (include "pinion.second" .root) }}
    managedResources:        # and nothing else does
      - {name: {{ .root.Values.scheduler.managedResource }}, ignoredByScheduler: true}
    {{- end }}
    tlsConfig:
      serverName: {{ include "pinion.extenderName" .root }}
      caFile: {{ .folder }}/ca.crt
      certFile: {{ .folder }}/tls.crt
      keyFile: {{ .folder }}/tls.key
{{- end }}

{{- define "pinion.names" -}}
- pinion-webhook.{{ .Release.Namespace }}.svc
- {{ include "pinion.extenderName" . }}
- {{ include "pinion.extenderName" . }}.cluster.local
{{- end }}
{{- define "pinion.addresses" -}}
{{- with .Values.extender.service.clusterIP }}
- {{ . }}
{{- else }}[]{{ end }}
{{- end }}

{{- /* How the API server reaches the webhook. */ -}}
{{- define "pinion.webhookClient" -}}
service: {namespace: {{ .root.Release.Namespace }}, name: pinion-webhook, port: 443, path: /mutate}
{{- with .bundle }}
caBundle: {{ . }}
{{- end }}
{{- end }}
