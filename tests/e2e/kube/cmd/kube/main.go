// One program for the parts of Kubernetes that nearly all end-to-end tests run, chosen by the first
// argument: most of what each of them links is the same, so one binary is half the size of two.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func command(part string) *cobra.Command {
	switch part {
	case "kube-apiserver":
		return apiserver.NewAPIServerCommand()
	case "kube-scheduler":
		return scheduler.NewSchedulerCommand()
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
	fmt.Fprintln(os.Stderr, "usage: kube kube-apiserver|kube-scheduler [flags]")
	os.Exit(2)
}
