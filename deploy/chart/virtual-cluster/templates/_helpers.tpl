{{- define "vc.name" -}}
{{- if or (not (regexMatch "^[a-z]([a-z0-9-]{0,18}[a-z0-9])?$" .Release.Name)) (contains "-node" .Release.Name) }}
{{- fail (printf "the release's name is that of the virtual cluster, and begins names of pods: up to 20 small letters, digits and dashes without '-node', and %q is not" .Release.Name) }}
{{- end -}}
{{ .Release.Name }}
{{- end }}

{{- /* A list with one that is there twice would be refused by the API server late, or make two users one. */ -}}
{{- define "vc.checkUsers" -}}
{{- $seen := dict }}
{{- range .Values.users }}
{{- range list (printf "name %s" .name) (printf "uid %d" (int .uid)) }}
{{- if hasKey $seen . }}{{ fail (printf "users: two have the %s" .) }}{{ end }}
{{- $_ := set $seen . true }}
{{- end }}
{{- end }}
{{- end }}

{{- define "vc.selector" -}}
app.kubernetes.io/name: pinion-virtual-cluster
app.kubernetes.io/instance: {{ include "vc.name" . }}
{{- end }}

{{- define "vc.labels" -}}
{{ include "vc.selector" . }}
app.kubernetes.io/part-of: pinion
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "vc.image" -}}
{{ .Values.image.registry }}/pinion-slurm:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- define "vc.nodeImage" -}}{{ .Values.nodes.image | default (include "vc.image" .) }}{{- end }}

{{- define "vc.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "vc.mungeSecret" -}}{{ .Values.munge.existingSecret | default (printf "%s-munge" (include "vc.name" .)) }}{{- end }}

{{- /* Requests and limits are the same, as the nodes' pods are Guaranteed. */ -}}
{{- define "vc.small" -}}
requests: {cpu: 50m, memory: 32Mi}
limits: {cpu: 50m, memory: 32Mi}
{{- end }}

{{- /* Runs beside what speaks Slurm. It alone has the key. */ -}}
{{- define "vc.munged" -}}
- name: munged
  image: {{ include "vc.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  restartPolicy: Always        # is there before the others, and as long as they are
  # --force: the socket's folder is a volume, which is open to all. The others cannot write there, as they mount it so.
  command: [munged, --foreground, --force, --key-file=/etc/munge-key/munge.key, --seed-file=/run/munge/seed]
  securityContext:
    runAsUser: 0               # owner of the key
    runAsGroup: 0
    runAsNonRoot: false
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities: {drop: [ALL]}
  resources: {{- include "vc.small" . | nindent 4 }}
  startupProbe:
    exec: {command: [test, -S, /run/munge/munge.socket.2]}
    periodSeconds: 1
    failureThreshold: 30
  volumeMounts:
    - {name: munge-socket, mountPath: /run/munge}
    # A single file, as munged takes no link.
    - {name: munge-key, mountPath: /etc/munge-key/munge.key, subPath: munge.key, readOnly: true}
{{- end }}

{{- /* The homes that are missing. */ -}}
{{- define "vc.homes" -}}
- name: homes
  image: {{ include "vc.nodeImage" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  command: [/usr/lib/pinion-slurm/make_homes.sh]
  securityContext:
    runAsUser: 0
    runAsGroup: 0
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities:
      drop: [ALL]
      add: [CHOWN]             # gives each to its user
  resources: {{- include "vc.small" . | nindent 4 }}
  volumeMounts:
    - {name: home, mountPath: /home}
    - {name: tmp, mountPath: /tmp}
    {{- include "vc.namesMounts" . | nindent 4 }}
{{- end }}

{{- /* Who the users are. */ -}}
{{- define "vc.namesMounts" -}}
- {name: conf, mountPath: /etc/passwd, subPath: passwd, readOnly: true}
- {name: conf, mountPath: /etc/group, subPath: group, readOnly: true}
{{- end }}

{{- define "vc.slurmMounts" -}}
- {name: conf, mountPath: /etc/slurm/slurm.conf, subPath: slurm.conf, readOnly: true}
{{ include "vc.namesMounts" . }}
# Not writable: else a job could put a socket of its own there.
- {name: munge-socket, mountPath: /run/munge, readOnly: true}
{{- end }}

{{- define "vc.volumes" -}}
- name: conf
  configMap: {name: {{ include "vc.name" . }}-slurm}
- name: munge-key
  secret: {secretName: {{ include "vc.mungeSecret" . }}, defaultMode: 0400}
- name: munge-socket
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
{{- end }}

{{- define "vc.homeVolume" -}}
- name: home
  {{- if .Values.home.existingClaim }}
  persistentVolumeClaim: {claimName: {{ .Values.home.existingClaim }}}
  {{- else if .Values.home.size }}
  persistentVolumeClaim: {claimName: {{ include "vc.name" . }}-home}
  {{- else if .Values.home.hostPath }}
  hostPath: {path: {{ .Values.home.hostPath }}, type: Directory}
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- end }}

{{- /* Of a name of the controller's Service that all pods understand. */ -}}
{{- define "vc.hostAliases" -}}
{{- with .Values.controller.clusterIP }}
hostAliases:
  - {ip: {{ . }}, hostnames: [{{ include "vc.name" $ }}-controller]}
{{- end }}
{{- end }}

{{- define "vc.checksum" -}}
checksum/slurm: {{ printf "%s %s" (tpl (.Files.Get "slurm.conf") .) (toYaml .Values.users) | sha256sum }}
{{- end }}
