package main

import nri "github.com/containerd/nri/pkg/adaptation"

// begin runs a pod as a kubelet does, one container after the other, each pod on its own. Where the runtime refuses a
// container, the others run all the same.
func (n *node) begin(pod *nri.PodSandbox, containers []*nri.Container) {
	ended := make(chan struct{})
	n.pods[pod.Id] = ended
	go func() {
		n.runPodSandbox(pod)
		var there []*nri.Container
		for _, container := range containers {
			if n.createContainer(pod, container) {
				there = append(there, container)
				n.startContainer(pod, container)
			}
		}
		<-ended
		for _, container := range there {
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
