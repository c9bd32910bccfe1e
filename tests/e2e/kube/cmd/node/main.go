// The parts of Kubernetes that run on every node, which only the test of a whole cluster needs; chosen by the first argument.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func command(part string) *cobra.Command {
	switch part {
	case "kubelet":
		return kubelet.NewKubeletCommand(context.Background()) // which waits for signals itself
	case "kube-proxy":
		return proxy.NewProxyCommand()
	}
	return nil
}

func main() {
	if len(os.Args) > 1 {
		if chosen := command(os.Args[1]); chosen != nil {
			os.Args = os.Args[1:]
			os.Exit(cli.Run(chosen))
		}
	}
	fmt.Fprintln(os.Stderr, "usage: node kubelet|kube-proxy [flags]")
	os.Exit(2)
}
