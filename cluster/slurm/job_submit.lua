-- Of pinion-slurm: every job waits, held, until Kubernetes has given it its cores.
-- Lies beside slurm.conf, which has JobSubmitPlugins=lua.

local NOT_SET = {[4294967294] = true, [65534] = true}  -- NO_VAL, and in 16 bits
local ACCESS_DENIED = 2002                             -- ESLURM_ACCESS_DENIED
local RELEASED = 4294967295  -- INFINITE: the priority that a release asks for
-- As whom pinion-slurm runs: root, or Debian's slurm. Where SlurmUser is another, write its number in place of 64030.
local MAY_PLACE = {[0] = true, [64030] = true}

local function is_list(nodes)
  return nodes ~= nil and nodes ~= ""
end

local function is_expand(job_desc)
  return string.find(string.lower(job_desc.dependency or ""), "expand", 1, true) ~= nil
end

-- A job of pinion-slurm's own, which gives its node to the job with this number.
local function grown_by_us(job_desc, submit_uid)
  return MAY_PLACE[submit_uid] and string.match(job_desc.dependency or "", "^expand:(%d+)$")
end

-- What decides how many cores on how many nodes, and when, is settled at the submission.
local function refused(job_desc)
  for _, field in ipairs({"priority", "min_nodes", "max_nodes", "num_tasks", "min_cpus", "max_cpus",
                            "pn_min_cpus", "cpus_per_task", "ntasks_per_node"}) do
    local value = job_desc[field]
    if value ~= nil and not NOT_SET[value] then
      return field
    end
  end
  if is_list(job_desc.req_nodes) then
    return "req_nodes"
  end
  return nil
end

function slurm_job_submit(job_desc, part_list, submit_uid)
  local grown = grown_by_us(job_desc, submit_uid)
  if grown then
    job_desc.admin_comment = "pinion-grows=" .. grown
    return slurm.SUCCESS
  end
  if is_list(job_desc.req_nodes) then
    slurm.log_user("--nodelist: Kubernetes chooses the nodes; --exclude may be used")
    return slurm.ERROR
  end
  if is_expand(job_desc) then
    slurm.log_user("--dependency=expand: a job keeps the nodes that Kubernetes has given it")
    return slurm.ERROR
  end
  if job_desc.priority == 0 then
    job_desc.admin_comment = "pinion=user-held"
  else
    job_desc.admin_comment = "pinion=wait"
  end
  job_desc.priority = 0
  return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
  if MAY_PLACE[modify_uid] or string.sub(job_rec.admin_comment or "", 1, 7) ~= "pinion=" then
    return slurm.SUCCESS
  end
  if job_desc.priority == RELEASED and job_rec.admin_comment == "pinion=user-held" then
    -- It stays held, and pinion-slurm reads that it may go on.
    job_desc.priority = 0
    local comment = job_rec.comment or ""
    if not string.find(comment, "released-by-user", 1, true) then
      job_desc.comment = string.gsub(comment .. " released-by-user", "^ ", "")
    end
    return slurm.SUCCESS
  end
  local field = refused(job_desc) or (is_expand(job_desc) and "dependency")
  if field then
    slurm.log_info("pinion: user %u may not set %s of a job", modify_uid, field)
    return ACCESS_DENIED
  end
  return slurm.SUCCESS
end

return slurm.SUCCESS
