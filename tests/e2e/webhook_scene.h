// A scene for jobs: a controller manager, and four nodes behind the extender's webhook.
#pragma once

#include "tests/e2e/scene.h"

namespace pinion::e2e {

class WebhookScene : public Scene {
 protected:
  [[nodiscard]] ClusterOptions cluster_options() const override {
    return {.controller_manager = true};
  }
  void SetUp() override {
    Scene::SetUp();
    if (IsSkipped() || HasFailure()) return;
    start_with_webhook(4);
  }
};

}  // namespace pinion::e2e
