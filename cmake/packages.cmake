# Installing, and packages of Debian by CPack: scripts/package.sh.
include(GNUInstallDirs)

install(PROGRAMS ${CMAKE_BINARY_DIR}/out/bin/pinion-agent DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT agent)
install(FILES deploy/systemd/pinion-agent.service DESTINATION lib/systemd/system COMPONENT agent)
install(FILES deploy/systemd/agent.yaml DESTINATION /etc/pinion COMPONENT agent)
install(PROGRAMS ${CMAKE_BINARY_DIR}/out/bin/pinion-extender DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT extender)
install(PROGRAMS ${CMAKE_BINARY_DIR}/out/bin/pinionctl DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ctl)
# kubectl finds it: "kubectl pinion ...".
install(FILES ${CMAKE_BINARY_DIR}/out/bin/kubectl-pinion DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ctl)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR Pinion)
set(CPACK_PACKAGE_CONTACT "Pinion's developers <pinion@localhost>")
set(CPACK_PACKAGE_VERSION ${PINION_FULL_VERSION})
set(CPACK_COMPONENTS_ALL agent extender ctl)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_STRIP_FILES OFF)  # scripts/package.sh has kept the debug information beside
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE "")
set(CPACK_DEBIAN_AGENT_PACKAGE_NAME pinion-agent)
set(CPACK_DEBIAN_AGENT_PACKAGE_CONTROL_EXTRA "")
foreach(file conffiles postinst prerm postrm)
  list(APPEND CPACK_DEBIAN_AGENT_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/deploy/debian/${file})
endforeach()
set(CPACK_COMPONENT_AGENT_DESCRIPTION "Gives containers their own CPU cores, through NRI
 One runs on each node, beside containerd.")
set(CPACK_DEBIAN_EXTENDER_PACKAGE_NAME pinion-extender)
set(CPACK_COMPONENT_EXTENDER_DESCRIPTION "Tells kube-scheduler where containers get their own CPU cores
 One runs in each cluster, or a few of which one leads.")
set(CPACK_DEBIAN_CTL_PACKAGE_NAME pinionctl)
set(CPACK_COMPONENT_CTL_DESCRIPTION "Shows what Pinion's agents decided, and plans dry
 Also installed as a plugin of kubectl.")
include(CPack)
