#!/usr/bin/env bash
# Writes deploy/base from the chart, for who uses kustomize. The chart is the source: what is changed by hand is lost.
#
#   scripts/manifests.sh           writes it
#   scripts/manifests.sh --check   fails where it is not what the chart makes
set -euo pipefail

case ${1:-} in
  '' | --check) ;;
  -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) echo "manifests: unknown option '$1' (see --help)" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
helm=$(scripts/kube.sh --where)/helm
[ -e "$helm" ] || { echo "manifests: no helm: run scripts/kube.sh --helm" >&2; exit 1; }

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
# The extender makes the certificates. The comments of each object stay.
{
  echo "# Made from deploy/chart/pinion by scripts/manifests.sh; do not change it here."
  "$helm" template pinion deploy/chart/pinion --namespace pinion-system --kube-version 1.34.0 \
    -f deploy/chart/pinion/presets/default-scheduler.yaml
} | sed 's/managed-by: Helm/managed-by: kustomize/' >"$made/pinion.yaml"
cat >"$made/namespace.yaml" <<'END'
apiVersion: v1
kind: Namespace
metadata:
  name: pinion-system
  labels:
    # The agents see the host's processes and mount the host's folders.
    pod-security.kubernetes.io/enforce: privileged
END
cat >"$made/kustomization.yaml" <<'END'
# For kubectl apply -k. Set your images in an overlay, with the tag that scripts/package.sh printed:
#   images:
#     - {name: localhost/pinion/pinion-agent, newName: REGISTRY/pinion-agent, newTag: TAG}
#     - {name: localhost/pinion/pinion-extender, newName: REGISTRY/pinion-extender, newTag: TAG}
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - namespace.yaml
  - pinion.yaml
END
if [ "${1:-}" = --check ]; then
  diff -ru deploy/base "$made" || { echo "manifests: deploy/base is not what the chart makes: scripts/manifests.sh" >&2; exit 1; }
else
  rm -rf deploy/base
  mkdir deploy/base
  cp "$made"/* deploy/base/
fi
