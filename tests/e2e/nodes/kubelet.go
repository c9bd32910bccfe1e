package main

import nri "github.com/containerd/nri/pkg/adaptation"

type toRun struct {
	*nri.Container
	ends bool // before the next begins: an init container
}

// begin runs a pod as a kubelet does, one container after the other, each pod on its own. Where the runtime refuses a
// container, the others run all the same, but none after an init container.
func (n *node) begin(pod *nri.PodSandbox, containers []toRun) {
	ended := make(chan struct{})
	n.pods[pod.Id] = ended
	go func() {
		n.runPodSandbox(pod)
		var there, running []*nri.Container
		for _, each := range containers {
			if !n.createContainer(pod, each.Container) {
				if each.ends {
					break
				}
				continue
			}
			there = append(there, each.Container)
			n.startContainer(pod, each.Container)
			if each.ends {
				n.stopContainer(pod, each.Container)
			} else {
				running = append(running, each.Container)
			}
		}
		<-ended
		for _, container := range running {
			n.stopContainer(pod, container)
		}
		n.stopPodSandbox(pod)
		for _, container := range there {
			n.removeContainer(pod, container)
		}
		n.removePodSandbox(pod)
		say(event{What: "gone", Node: n.name, Pod: pod.Id})
	}()
}

// end ends a pod that begin() was told of, as soon as it runs.
func (n *node) end(pod string) {
	close(n.pods[pod])
	delete(n.pods, pod)
}
