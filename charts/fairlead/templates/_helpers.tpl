{{- define "fairlead.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "fairlead.fullname" -}}
{{- $name := include "fairlead.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "fairlead.selectorLabels" -}}
app.kubernetes.io/name: {{ include "fairlead.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* The labels of pods do not change with the chart's version. Otherwise each upgrade would restart the pods. */ -}}
{{- define "fairlead.podLabels" -}}
{{ include "fairlead.selectorLabels" . }}
app.kubernetes.io/component: cloud-controller-manager
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "fairlead.labels" -}}
{{ include "fairlead.podLabels" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "fairlead.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "fairlead.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- required "serviceAccount.name: with serviceAccount.create=false, name the account that exists" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "fairlead.image" -}}
{{- $repository := required "image.repository: Fairlead publishes no image yet; name the one that you built with your provider linked in (docs/guides/install.md)" .Values.image.repository }}
{{- if .Values.image.digest }}
{{- printf "%s@%s" $repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" $repository (required "image.tag: name the tag of the image, or its image.digest" .Values.image.tag) }}
{{- end }}
{{- end }}

{{- /* "true" or nothing. */ -}}
{{- define "fairlead.hostNetwork" -}}
{{- if kindIs "bool" .Values.hostNetwork }}
{{- if .Values.hostNetwork }}true{{ end }}
{{- else if eq .Values.kind "DaemonSet" }}true{{ end }}
{{- end }}

{{- /* Address to listen on, or nothing for all. */ -}}
{{- define "fairlead.bindAddress" -}}
{{- if .Values.bindAddress }}{{ .Values.bindAddress }}{{ else if include "fairlead.hostNetwork" . }}127.0.0.1{{ end }}
{{- end }}

{{- /* Address that the probes ask, or nothing for the pod's address. */ -}}
{{- define "fairlead.probeHost" -}}
{{- $address := include "fairlead.bindAddress" . }}
{{- if not (has $address (list "0.0.0.0" "::")) }}{{ $address }}{{ end }}
{{- end }}

{{- /* Name of the Service for metrics, which may have 63 characters. */ -}}
{{- define "fairlead.metricsName" -}}
{{- printf "%s-metrics" (include "fairlead.fullname" . | trunc 55 | trimSuffix "-") }}
{{- end }}

{{- /* Fails if Prometheus could not scrape the daemon, or not safely: (list . "serviceMonitor"). */ -}}
{{- define "fairlead.mayScrape" -}}
{{- $root := index . 0 }}
{{- $monitor := index . 1 }}
{{- if not $root.Values.securePort }}
{{- fail (printf "metrics.%s: without securePort there are no metrics" $monitor) }}
{{- end }}
{{- if has (include "fairlead.bindAddress" $root) (list "127.0.0.1" "::1") }}
{{- fail (printf "metrics.%s: on the host's network the daemon listens on 127.0.0.1 only; set bindAddress to an address that Prometheus reaches, such as 0.0.0.0, and let a firewall guard the port" $monitor) }}
{{- end }}
{{- if not (or (index $root.Values.metrics $monitor).tlsConfig $root.Values.tls.secretName) }}
{{- fail (printf "metrics.%s: Prometheus would send its token to whoever answers; set tls.secretName, or metrics.%s.tlsConfig" $monitor $monitor) }}
{{- end }}
{{- end }}

{{- /* How Prometheus verifies the daemon: (list . "serviceMonitor"). */ -}}
{{- define "fairlead.scrapeTLS" -}}
{{- $root := index . 0 }}
{{- with (index $root.Values.metrics (index . 1)).tlsConfig }}
{{- toYaml . }}
{{- else -}}
ca:
  secret:
    name: {{ $root.Values.tls.secretName }}
    key: ca.crt
serverName: {{ include "fairlead.metricsName" $root }}.{{ $root.Release.Namespace }}.svc
{{- end }}
{{- end }}

{{- /* Name of the Secret with the provider's configuration, or nothing. */ -}}
{{- define "fairlead.cloudConfigSecret" -}}
{{- if and .Values.cloudConfig.content .Values.cloudConfig.existingSecret }}
{{- fail "cloudConfig: content and existingSecret exclude each other" }}
{{- end }}
{{- if .Values.cloudConfig.content }}
{{- include "fairlead.fullname" . }}-cloud-config
{{- else }}
{{- .Values.cloudConfig.existingSecret }}
{{- end }}
{{- end }}

{{- /* The controllers to run, with those that values of their own switch on. */ -}}
{{- define "fairlead.controllers" -}}
{{- $all := .Values.controllers }}
{{- if .Values.volumeLabels.enabled }}{{ $all = append $all "persistent-volume-label-controller" }}{{ end }}
{{- if .Values.servingCertificates.enabled }}{{ $all = append $all "kubelet-serving-csr-controller" }}{{ end }}
{{- if .Values.nodeCIDRs.enabled }}{{ $all = append $all "node-ipam-controller" }}{{ end }}
{{- join "," $all }}
{{- end }}

{{- /* The service accounts of the controllers, as a YAML list. */ -}}
{{- define "fairlead.controllerServiceAccounts" -}}
{{- $all := .Values.controllerServiceAccounts }}
{{- if .Values.volumeLabels.enabled }}{{ $all = append $all "persistent-volume-label-controller" }}{{ end }}
{{- if .Values.servingCertificates.enabled }}{{ $all = append $all "kubelet-serving-csr-controller" }}{{ end }}
{{- toYaml $all }}
{{- end }}

{{- define "fairlead.args" -}}
- {{ printf "--cloud-provider=%s" (required "cloudProvider: name the provider that is linked into the image, as it registered itself" .Values.cloudProvider) | quote }}
{{- if include "fairlead.cloudConfigSecret" . }}
- --cloud-config=/etc/fairlead/cloud-config/{{ .Values.cloudConfig.key }}
{{- end }}
- {{ printf "--cluster-name=%s" .Values.clusterName | quote }}
- --configure-cloud-routes={{ .Values.configureCloudRoutes }}
{{- if and .Values.configureCloudRoutes (not .Values.clusterCIDR) }}
{{- fail "clusterCIDR: configureCloudRoutes needs the CIDR of the pods, because routes are removed only inside of it" }}
{{- end }}
{{- with .Values.clusterCIDR }}
- {{ printf "--cluster-cidr=%s" . | quote }}
{{- end }}
{{- if .Values.nodeCIDRs.enabled }}
{{- if not .Values.clusterCIDR }}
{{- fail "clusterCIDR: nodeCIDRs needs the CIDR of the pods, because nodes get parts of it" }}
{{- end }}
- --allocate-node-cidrs
{{- with .Values.nodeCIDRs.serviceClusterIPRange }}
- {{ printf "--service-cluster-ip-range=%s" . | quote }}
{{- end }}
{{- end }}
{{- if ne .Values.serviceBackends "all" }}
- --service-backends={{ .Values.serviceBackends }}
{{- end }}
- {{ printf "--controllers=%s" (include "fairlead.controllers" .) | quote }}
- --leader-elect-resource-namespace={{ .Values.leaderElection.namespace }}
- --leader-elect-resource-name={{ .Values.leaderElection.name }}
{{- if .Values.leaderMigration.enabled }}
- --enable-leader-migration
{{- end }}
{{- if .Values.shadow.enabled }}
{{- if ne .Values.kind "Deployment" }}
{{- fail "shadow: one Pod looks at the whole cluster; set kind to Deployment" }}
{{- end }}
- --shadow
{{- end }}
{{- if .Values.useServiceAccountCredentials }}
- --use-service-account-credentials
{{- end }}
- --secure-port={{ .Values.securePort }}
{{- with include "fairlead.bindAddress" . }}
- {{ printf "--bind-address=%s" . | quote }}
{{- end }}
{{- if .Values.tls.secretName }}
- --tls-cert-file=/etc/fairlead/tls/tls.crt
- --tls-private-key-file=/etc/fairlead/tls/tls.key
{{- end }}
- --profiling={{ .Values.profiling }}
{{- range .Values.extraArgs }}
{{- if regexMatch "^--leader[-_]elect[-_]resource[-_]name" . }}
{{- fail (printf "extraArgs: %s: set leaderElection.name and leaderElection.namespace instead, because the role allows that Lease and no other" .) }}
{{- end }}
{{- if regexMatch "^--bind[-_]address" . }}
{{- fail (printf "extraArgs: %s: set bindAddress instead, because the probes need it too" .) }}
{{- end }}
{{- if regexMatch "^--leader[-_]elect=(0|f|F|false|False|FALSE)$" . }}
{{- $alone := and (eq $.Values.kind "Deployment") (le (int $.Values.replicaCount) 1) (eq (dig "type" "" $.Values.updateStrategy) "Recreate") }}
{{- if not $alone }}
{{- fail (printf "extraArgs: %s: without the Lease several replicas would work at the same time; drop the flag, or set kind to Deployment, replicaCount to 1 and updateStrategy to {type: Recreate}" .) }}
{{- end }}
{{- end }}
- {{ . | quote }}
{{- end }}
{{- end }}
